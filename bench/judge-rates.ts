// How often the judge is right: its verdicts on synthetic pairs of agents with a known difference.
//
//   npm run bench -- judge-rates               2,000 pairs for each row, as docs/judge.md has them
//   npm run bench -- judge-rates --pairs 200   quicker, and less certain
import { SIDES, type Trial } from '../src/domain/judge/report.ts';
import { DEFAULT_POLICY, DEFAULT_SETTINGS, type JudgePolicy } from '../src/domain/judge/settings.ts';
import type { MetricVerdict } from '../src/domain/judge/verdict.ts';
import { type Random, randomFrom } from '../src/judge/random.ts';
import { reportOf } from '../src/judge/reportOf.ts';
import { numbersOf, say, sayResult } from './statistics.ts';

/** Two agents and how they differ. */
interface Scenario {
  readonly name: string;
  /** The candidate's slowdown factor: 1.3 is 30 % slower. */
  readonly slower?: number;
  /** The shares of runs that succeed. */
  readonly success?: readonly [baseline: number, candidate: number];
  /**
   * The standard deviation of a latency's logarithm within one input. Between inputs {@link BETWEEN_INPUTS} is added.
   */
  readonly noise?: number;
}

const EQUAL: Scenario = { name: 'no difference' };
const NOISY = 0.6;
const NOISE = 0.35;
const BETWEEN_INPUTS = 0.3;
/** One run in this many stalls and takes several times as long. */
const STALLS_ONE_IN = 50;
const STALL = 6;
const SUCCESS = 0.99;

const DIFFERENCES: readonly Scenario[] = [
  EQUAL,
  { name: 'no difference, noisy latencies', noise: NOISY },
  { name: 'no difference, 90 % succeed', success: [0.9, 0.9] },
  { name: '20 % faster', slower: 0.8 },
  { name: '10 % slower', slower: 1.1 },
  { name: '15 % slower: the limit', slower: 1.15 },
  { name: '30 % slower', slower: 1.3 },
  { name: '30 % slower, noisy latencies', slower: 1.3, noise: NOISY },
  { name: '50 % slower', slower: 1.5 },
  { name: '1 point fewer succeed', success: [0.99, 0.98] },
  { name: '3 points fewer succeed: the limit', success: [0.99, 0.96] },
  { name: '5 points fewer succeed', success: [0.99, 0.94] },
  { name: '5 points fewer succeed, of 90 %', success: [0.9, 0.85] },
  { name: '10 points fewer succeed', success: [0.99, 0.89] },
];
/**
 * The scenarios that decide the number of runs and the policy: one without a difference, and two regressions that the
 * judge must find.
 */
const DECISIVE: readonly Scenario[] = [
  EQUAL,
  { name: '30 % slower', slower: 1.3 },
  { name: '5 points fewer succeed', success: [0.99, 0.94] },
];
const RUNS = DEFAULT_SETTINGS.inputsMax;

const { pairs } = numbersOf({ pairs: 2_000 });
const rows: { heading: string; pair: string; passed: number; failed: number; inconclusive: number }[] = [];
let underHeading = '';

heading(`Verdicts over ${pairs} pairs each, ${RUNS} runs of each side, the default policy`);
for (const scenario of DIFFERENCES) row(scenario.name, scenario, RUNS, DEFAULT_POLICY);

// Each of the following tables varies one setting of the first table, and does not repeat the default.
heading('By the number of runs of each side');
for (const scenario of DECISIVE) {
  for (const runs of [100, 200, 800]) row(`${scenario.name}, ${runs} runs`, scenario, runs, DEFAULT_POLICY);
}

heading(`By the smallest relevant effect of latencies, ${RUNS} runs`);
for (const scenario of DECISIVE.slice(0, 2)) {
  for (const effect of [0.1, 0.2]) {
    const smallestEffects = { ...DEFAULT_POLICY.smallestEffects, firstToken: effect, latency: effect };
    row(`${scenario.name}, ${effect * 100} %`, scenario, RUNS, { ...DEFAULT_POLICY, smallestEffects });
  }
}

heading(`By the smallest relevant effect of rates, ${RUNS} runs`);
for (const scenario of [DECISIVE[0] ?? EQUAL, DECISIVE[2] ?? EQUAL]) {
  for (const effect of [0.02, 0.05]) {
    const smallestEffects = { ...DEFAULT_POLICY.smallestEffects, success: effect, expectations: effect };
    row(`${scenario.name}, ${effect * 100} points`, scenario, RUNS, { ...DEFAULT_POLICY, smallestEffects });
  }
}

heading(`By the confidence, ${RUNS} runs`);
for (const scenario of DECISIVE) {
  for (const confidence of [0.9, 0.99]) {
    row(`${scenario.name}, ${confidence}`, scenario, RUNS, { ...DEFAULT_POLICY, confidence });
  }
}
say('');
sayResult('judge-rates', { pairs, rows });

function heading(text: string): void {
  underHeading = text;
  say(`\n${text}\n\n| pair | passed | failed | inconclusive |\n| --- | ---: | ---: | ---: |`);
}

function row(name: string, scenario: Scenario, runs: number, policy: JudgePolicy): void {
  const verdicts: Record<MetricVerdict | 'errored', number> = {
    passed: 0,
    failed: 0,
    inconclusive: 0,
    errored: 0,
  };
  for (let pair = 0; pair < pairs; pair++) verdicts[judged(scenario, runs, policy, randomFrom(pair))] += 1;
  const [passed, failed, inconclusive] = [verdicts.passed, verdicts.failed, verdicts.inconclusive].map(
    (count) => count / pairs,
  ) as [number, number, number];
  rows.push({ heading: underHeading, pair: name, passed, failed, inconclusive });
  const shares = [passed, failed, inconclusive].map((share) => `${(share * 100).toFixed(1)} %`);
  say(`| ${name} | ${shares.join(' | ')} |`);
}

/** Judges one pair with the report code of `slipway judge`, on synthetic runs. */
function judged(scenario: Scenario, runs: number, policy: JudgePolicy, random: Random) {
  const trials = Array.from({ length: runs }, (_, input) => {
    const ofInput = BETWEEN_INPUTS * normal(random);
    return SIDES.map((side, index) => trial(scenario, side, input * 2 + index, ofInput, random));
  }).flat();
  const settings = { ...DEFAULT_SETTINGS, assistant: 'made up', seed: 0, policy };
  return reportOf({
    settings,
    inputs: { from: 'nowhere', count: runs, repetitions: 1 },
    agentUrls: { baseline: '', candidate: '' },
    trials,
    error: null,
    startedAt: '',
    endedAt: '',
  }).verdict;
}

function trial(
  { slower = 1, success = [SUCCESS, SUCCESS], noise = NOISE }: Scenario,
  side: Trial['side'],
  place: number,
  ofInput: number,
  random: Random,
): Trial {
  const candidate = side === 'candidate';
  const held = random() < (candidate ? success[1] : success[0]);
  const stall = random() < 1 / STALLS_ONE_IN ? STALL : 1;
  const factor = Math.exp(ofInput) * stall * (candidate ? slower : 1);
  return {
    place,
    side,
    status: held ? 'success' : 'error',
    ended: held,
    held,
    reason: null,
    latencyMs: 2_000 * factor * Math.exp(noise * normal(random)),
    firstTokenMs: 400 * factor * Math.exp(noise * normal(random)),
    outputSize: 500,
    outputTokens: null,
    score: null,
    repeated: 0,
    feedback: null,
  };
}

/** A standard normal number (Box and Muller). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
