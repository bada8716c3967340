import { randomUUID } from 'node:crypto';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createFeedbackClient } from '../../src/clients/feedback.ts';
import { createRunApiClient } from '../../src/clients/runApi.ts';
import { createAgent } from '../../src/clients/service.ts';
import { DEFAULT_POLICY, DEFAULT_SETTINGS, type JudgeSettings } from '../../src/domain/judge/settings.ts';
import type { Input } from '../../src/judge/inputs.ts';
import type { JudgeReport, Trial } from '../../src/domain/judge/report.ts';
import { judgeCandidate, type Judgement } from '../../src/judge/judgement.ts';
import { json, startService } from '../clients/faultyService.ts';
import { type Behavior, startFakeAgent } from './fakeAgent.ts';
import { metricOf } from './metricOf.ts';

const SETTINGS: JudgeSettings = {
  ...DEFAULT_SETTINGS,
  assistant: 'agent',
  concurrency: 16,
  warmUpRuns: 2,
  repetitions: 1,
  patienceMs: 30_000,
  seed: 7,
  policy: DEFAULT_POLICY,
};
/** The runs of each side: enough for a rate without failures to pass. */
const RUNS = 120;
const INPUTS: readonly Input[] = Array.from({ length: RUNS }, (_, index) => ({ input: { number: index } }));
/** A busy machine delays sleeps by less than this. */
const COARSE = { ...DEFAULT_POLICY, smallestEffects: { success: 0.03, firstToken: 0.5, latency: 0.5 } };

type Agent = Awaited<ReturnType<typeof startFakeAgent>>;

function judgement(
  [baseline, candidate]: readonly [Agent, Agent],
  settings: Partial<JudgeSettings> = {},
  more: Partial<Judgement> = {},
): Judgement {
  const clients = [baseline, candidate].map(({ url }) => createRunApiClient({ baseUrl: url }));
  const feedback = createFeedbackClient();
  const pool = createAgent();
  onTestFinished(async () => {
    await Promise.all([...clients, feedback, pool].map((client) => client.close()));
  });
  return {
    settings: { ...SETTINGS, ...settings },
    inputs: { from: 'inputs.jsonl', chosen: INPUTS },
    agents: {
      baseline: { url: baseline.url, client: clients[0]! },
      candidate: { url: candidate.url, client: clients[1]! },
    },
    feedback,
    evaluators: { pool },
    signal: new AbortController().signal,
    ...more,
  };
}

function judge(...asked: Parameters<typeof judgement>): Promise<JudgeReport> {
  return judgeCandidate(judgement(...asked));
}

/** The first inputs. */
function some(count: number): Pick<Judgement, 'inputs'> {
  return { inputs: { from: 'few', chosen: INPUTS.slice(0, count) } };
}

function startAgents(baseline?: Behavior, candidate?: Behavior): Promise<[Agent, Agent]> {
  return Promise.all([startFakeAgent(baseline), startFakeAgent(candidate)]);
}

describe('a judgement', () => {
  it('passes two equal agents', async () => {
    // Long enough for a busy machine's delays to be small beside it.
    const agents = await startAgents({ takesMs: () => 250 }, { takesMs: () => 250 });
    const report = await judge(agents, { policy: COARSE });
    expect(report.verdict).toBe('passed');
    expect(report.sides.baseline.runs).toBe(RUNS);
    expect(metricOf(report, 'firstToken')!.comparison.change!.upper).toBeLessThan(0.5);
  });

  it('fails a candidate that is slower by more than 30 %, and reports it', async () => {
    const agents = await startAgents({ takesMs: () => 250 }, { takesMs: () => 350 });
    const report = await judge(agents, {}, some(80));
    expect(report.verdict).toBe('failed');
    expect(report.reasons.join()).toMatch(/latency: worse by \d+\.\d %/);
    expect(metricOf(report, 'success')!.verdict).not.toBe('failed');
  });

  it('fails a candidate with five failed runs in a hundred', async () => {
    const report = await judge(await startAgents({}, { fails: (run) => run % 20 === 0 }), { repetitions: 3 });
    expect(report.verdict).toBe('failed');
    expect(metricOf(report, 'success')).toMatchObject({ verdict: 'failed' });
    expect(report.sides.candidate.failures[0]!.reason).toContain('as it was told to');
  });

  it('is inconclusive after too few runs', async () => {
    const report = await judge(await startAgents(), { repetitions: 1 }, some(10));
    expect(report.verdict).toBe('inconclusive');
    expect(report.reasons[0]).toContain('20 are needed');
  });
});

describe('an agent that is unavailable', () => {
  it('makes the judgement errored, and is named', async () => {
    const made = judgement(await startAgents(), { patienceMs: 0 }, some(30));
    const gone = createRunApiClient({ baseUrl: 'http://127.0.0.1:9' });
    const agents = { ...made.agents, candidate: { url: 'http://127.0.0.1:9', client: gone } };
    const report = await judgeCandidate({ ...made, agents });
    await gone.close();
    expect(report.verdict).toBe('errored');
    expect(report.error).toMatchObject({ side: 'candidate', code: 'SLIPWAY_UNREACHABLE' });
    expect(report.metrics.every(({ verdict }) => verdict === null)).toBe(true);
  });

  it('is waited for, and its lost runs are repeated and do not count against it', async () => {
    let away = 0;
    // Two runs are refused, and then the next read.
    const instead: Behavior['instead'] = (request, response, run) => {
      if (request.url === '/ok' ? away === 0 : run < 10 || run >= 12) return false;
      away = request.url === '/ok' ? away - 1 : 1;
      // A gateway that does not know the deployment yet.
      if (request.url === '/ok') json(response, 404, { detail: `Deployment ID ${randomUUID()} not found.` });
      else json(response, 503, { detail: 'starting' });
      return true;
    };
    const report = await judge(await startAgents({}, { instead }), { concurrency: 1 }, some(30));
    expect(report.verdict).not.toBe('errored');
    expect(report.sides.candidate.repeated).toBe(2);
    expect(report.sides.candidate.ended.error).toBe(0);
  });

  it('that loses a run during its answer has failed in it', async () => {
    const instead: Behavior['instead'] = (request, response, run) => {
      if (request.url !== '/runs/stream' || run % 3 !== 0) return false;
      response.destroy();
      return true;
    };
    const report = await judge(await startAgents({}, { instead }), {}, some(30));
    expect(report.sides.candidate.ended.error).toBeGreaterThan(8);
    expect(metricOf(report, 'success')!.verdict).toBe('failed');
  });

  it('that has no /ok is there all the same', async () => {
    const instead: Behavior['instead'] = (request, response, run) => {
      if (request.url !== '/runs/stream') json(response, 404, { detail: 'Not Found' });
      else if (run === 3) response.destroy();
      else return false;
      return true;
    };
    const report = await judge(await startAgents({}, { instead }), { patienceMs: 100 }, some(10));
    expect(report.error).toBeNull();
    expect(report.sides.candidate.ended.error).toBe(1);
  });

  it('that rejects the key ends the judgement immediately', async () => {
    const instead: Behavior['instead'] = (_, response) => {
      json(response, 401, { detail: 'no' });
      return true;
    };
    const report = await judge(await startAgents({ instead }), {}, some(30));
    expect(report.error).toMatchObject({ side: 'baseline', code: 'SLIPWAY_UNAUTHORIZED' });
  });
});

describe('the runs of a judgement', () => {
  it('alternate between the sides, and the same seed gives the same ones', async () => {
    const order = async (seed: number): Promise<string> => {
      const agents = await startAgents();
      const trials: Trial[] = [];
      const onTrial = (trial: Trial): void => void trials.push(trial);
      const settings = { seed, concurrency: 1, repetitions: 1, warmUpRuns: 0 };
      await judge(agents, settings, { ...some(20), onTrial });
      for (let pair = 0; pair < trials.length; pair += 2) {
        expect(new Set([trials[pair]!.side, trials[pair + 1]!.side]).size).toBe(2);
      }
      const inputs = agents[0].requests.map(({ body }) => body).join();
      return trials.map(({ side }) => side[0]).join('') + inputs;
    };
    const [first, again, other] = [await order(1), await order(1), await order(2)];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it('of an earlier attempt are not repeated', async () => {
    const agents = await startAgents();
    const trials: Trial[] = [];
    const settings = { repetitions: 1, warmUpRuns: 0 };
    const onTrial = (trial: Trial): void => void trials.push(trial);
    await judge(agents, settings, { ...some(30), onTrial });
    const runs = (): number => agents[0].runs() + agents[1].runs();
    const before = runs();
    const report = await judge(agents, settings, { ...some(30), made: trials.slice(0, 50) });
    expect(runs() - before).toBe(10);
    expect(report.sides.baseline.runs + report.sides.candidate.runs).toBe(60);
  });

  it('end when the signal aborts', async () => {
    const agents = await startAgents({ takesMs: () => 60_000 });
    const controller = new AbortController();
    const judged = judge(agents, {}, { signal: controller.signal });
    while (agents[0].runs() === 0) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    await expect(judged).rejects.toThrow('enough');
  });

  it('record their verdict through their feedback link, and measure score and tokens', async () => {
    const agents = await startAgents(
      { values: { grade: { score: 0.8 } } },
      { values: { grade: { score: 0.5 } } },
    );
    const chosen = INPUTS.slice(0, 20).map(({ input }, index): Input => {
      return index < 10 ? { input } : { input, expect: { contains: 'goodbye' } };
    });
    const settings = { feedbackKey: 'judge', scorePath: 'grade.score', repetitions: 1 };
    const report = await judge(agents, settings, { inputs: { from: 'few', chosen } });
    const posted = agents[1].requests.filter(({ url }) => url.startsWith('/feedback/'));
    expect(posted).toHaveLength(20);
    expect(posted.every(({ body }) => (JSON.parse(body) as { score: number }).score === 0.5)).toBe(true);
    expect(report.sides.candidate.feedback).toEqual({ recorded: 20, lost: 0 });
    expect(metricOf(report, 'score')!.comparison.change!.estimate).toBeCloseTo(-0.3, 9);
    expect(metricOf(report, 'outputTokens')!.comparison).toMatchObject({ candidate: { mean: 7 } });
    expect(metricOf(report, 'expectations')!.comparison).toMatchObject({ candidate: { runs: 20, held: 10 } });
    expect(metricOf(report, 'success')!.comparison).toMatchObject({ candidate: { runs: 20, held: 20 } });
  });

  it('are compared with the reference of their input', async () => {
    const agents = await startAgents({}, { answers: ({ number }) => `it is ${String(number)}` });
    const chosen = INPUTS.slice(0, 20).map(({ input }, index): Input => {
      const reference = index < 10 ? index : 'something else';
      return index % 2 === 0 ? { input, reference } : { input, reference, expect: { reference: 'contains' } };
    });
    const report = await judge(
      agents,
      { expect: { reference: 'contains' } },
      { inputs: { from: '', chosen } },
    );
    const { comparison } = metricOf(report, 'expectations')!;
    expect(comparison).toMatchObject({ baseline: { held: 0 }, candidate: { runs: 20, held: 10 } });
  });

  it('are scored by an evaluator, which gets the reference, and whose missing scores are told', async () => {
    const agents = await startAgents({ values: { from: 'baseline' } }, { values: { from: 'candidate' } });
    const evaluator = await startService(({ body }, response) => {
      const { output, reference } = JSON.parse(body) as { output: { from: string }; reference: number };
      if (reference === 0) json(response, 400, { detail: 'no zeros' });
      else json(response, 200, { score: output.from === 'baseline' ? 0.9 : 0.6 });
    });
    const settings = { evaluator: { name: 'tone', url: evaluator.url, timeoutMs: 10_000 } };
    const chosen = INPUTS.slice(0, 21).map(({ input }, reference) => ({ input, reference }));
    const report = await judge(agents, settings, { inputs: { from: 'few', chosen } });
    expect(evaluator.requests).toHaveLength(42);
    const { comparison } = metricOf(report, 'score')!;
    expect(comparison).toMatchObject({ baseline: { runs: 20 }, candidate: { runs: 20 } });
    expect(comparison.change!.estimate).toBeCloseTo(-0.3, 9);
    const reason = expect.stringContaining('evaluator "tone" gave no score') as string;
    expect(report.sides.candidate.failures).toEqual([{ reason, runs: 1 }]);
  });
});
