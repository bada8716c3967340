import { describe, expect, it } from 'vitest';

import { type JudgeReport, type Side, SIDES, type Trial } from '../../src/domain/judge/report.ts';
import { DEFAULT_SETTINGS, type JudgeSettings } from '../../src/domain/judge/settings.ts';
import { randomFrom } from '../../src/judge/random.ts';
import { reportOf } from '../../src/judge/reportOf.ts';
import { markdownReport, textReport } from '../../src/judge/writtenReport.ts';
import { madeReport } from '../domain/judge/madeReport.ts';

const SETTINGS: JudgeSettings = {
  ...DEFAULT_SETTINGS,
  assistant: 'greeter',
  seed: 7,
  policy: { confidence: 0.95, minimumRuns: 20, smallestEffects: { success: 0.03, latency: 0.15 } },
};
const RUNS = 100;

/** Deterministic runs: the candidate takes 40 % longer, and fails in one run of ten. */
function trials(): Trial[] {
  const random = randomFrom(1);
  return SIDES.flatMap((side: Side) =>
    Array.from({ length: RUNS }, (_, place): Trial => {
      const failed = side === 'candidate' && place % 10 === 0;
      const latencyMs = (400 + 200 * random()) * (side === 'candidate' ? 1.4 : 1);
      return {
        place,
        side,
        latencyMs,
        firstTokenMs: latencyMs / 4,
        outputSize: 20 + (place % 5),
        status: failed ? 'error' : 'success',
        ended: !failed,
        held: !failed,
        reason: failed ? 'the run ended "error" instead of "success": <b>no</b> | `model`' : null,
        outputTokens: null,
        score: null,
        repeated: 0,
        feedback: null,
      };
    }),
  );
}

function report(): JudgeReport {
  return reportOf({
    settings: SETTINGS,
    inputs: { from: 'inputs.jsonl', count: 50, repetitions: 2 },
    agentUrls: { baseline: 'http://baseline.test', candidate: 'http://candidate.test' },
    trials: trials(),
    error: null,
    startedAt: '2026-11-21T10:00:00.000Z',
    endedAt: '2026-11-21T10:05:00.000Z',
  });
}

describe('the report', () => {
  it('has the verdict, the reason, every metric with its bounds, and the failures', () => {
    const text = textReport(report()).map((line) => line.text);
    expect(text).toEqual([
      'failed: the candidate is worse than the baseline',
      '  success: worse by 10.0 points (it matters from 3.0 points on)',
      '  latency: worse by 38.9 % (it matters from 15.0 % on)',
      '',
      '  metric        baseline           candidate        change (bounds)                             matters from  verdict',
      '  success       100.0 % (100/100)  90.0 % (90/100)  -10.0 points (-16.4 points to -4.6 points)  3.0 points    failed',
      '  latency       491 ms             677 ms           +38.9 % (+35.0 % to +43.0 %)                15.0 %        failed',
      '  expectations  100.0 % (100/100)  90.0 % (90/100)  -10.0 points (-16.4 points to -4.6 points)  –             –',
      '  firstToken    123 ms             169 ms           +38.9 % (+35.0 % to +43.0 %)                –             –',
      '  outputSize    22                 22               0.0 % (0.0 % to +4.3 %)                     –             –',
      '',
      '  latency baseline  |█▇▇▆▅▆▆▅▇           |',
      '  latency candidate |       ▅███▆▅▃▆▆▃▇▆▇|',
      '',
      '  what went wrong on the candidate:',
      '    10 × the run ended "error" instead of "success": <b>no</b> | `model`',
      '',
      '  100 runs of the baseline and 100 of the candidate: 50 inputs of inputs.jsonl, 2 each; every bound at 95 %; seed 7',
    ]);
  });

  it('has the same content as Markdown, with escaped text of agents', () => {
    expect(markdownReport(report()).split('\n')).toEqual([
      '## Judge: failed: the candidate is worse than the baseline',
      '',
      '- success: worse by 10.0 points (it matters from 3.0 points on)',
      '- latency: worse by 38.9 % (it matters from 15.0 % on)',
      '',
      '| metric | baseline | candidate | change (bounds) | matters from | verdict |',
      '| --- | --- | --- | --- | --- | --- |',
      '| success | 100.0 % (100/100) | 90.0 % (90/100) | -10.0 points (-16.4 points to -4.6 points) | 3.0 points | failed |',
      '| latency | 491 ms | 677 ms | +38.9 % (+35.0 % to +43.0 %) | 15.0 % | failed |',
      '| expectations | 100.0 % (100/100) | 90.0 % (90/100) | -10.0 points (-16.4 points to -4.6 points) | – | – |',
      '| firstToken | 123 ms | 169 ms | +38.9 % (+35.0 % to +43.0 %) | – | – |',
      '| outputSize | 22 | 22 | 0.0 % (0.0 % to +4.3 %) | – | – |',
      '',
      '```',
      'latency      baseline  |█▇▇▆▅▆▆▅▇           |',
      'latency      candidate |       ▅███▆▅▃▆▆▃▇▆▇|',
      'firstToken   baseline  |█▇▇▆▅▆▆▅▇           |',
      'firstToken   candidate |       ▅███▆▅▃▆▆▃▇▆▇|',
      'outputSize   baseline  |█    █    █    █   █|',
      'outputSize   candidate |▄    █    █    █   █|',
      '```',
      '',
      'What went wrong on the candidate:',
      '',
      '- 10 × the run ended "error" instead of "success": \\<b\\>no\\</b\\> \\| \\`model\\`',
      '',
      '100 runs of the baseline and 100 of the candidate: 50 inputs of inputs.jsonl, 2 each; every bound at 95 %; seed 7. Baseline http://baseline.test, candidate http://candidate.test, 2026-11-21 10:00:00Z to 2026-11-21 10:05:00Z.',
      '',
    ]);
  });

  it('is JSON, and small with any number of runs', () => {
    const small = report();
    expect(JSON.parse(JSON.stringify(small))).toEqual(small);
    expect(JSON.stringify(small).length).toBeLessThan(16_384);
  });

  it('counts the numbers of a failed run only in the rates', () => {
    const latency = report().metrics[1]!.comparison;
    expect(latency).toMatchObject({ baseline: { runs: RUNS }, candidate: { runs: 90 } });
  });

  it('says that an errored judgement is no verdict on the candidate', () => {
    const [verdict] = textReport(madeReport('errored'));
    expect(verdict!.text).toContain('there is no verdict on the candidate');
    expect(markdownReport(madeReport('errored'))).toContain('errored');
  });
});
