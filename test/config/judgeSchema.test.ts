import { describe, expect, it } from 'vitest';

import { Judge, judgeSettings } from '../../src/config/judgeSchema.ts';
import { DEFAULT_POLICY, DEFAULT_SETTINGS } from '../../src/domain/judge/settings.ts';

const LEAST = { inputs: 'inputs.jsonl', assistant: 'greeter' };

describe('the judge of slipway.yaml', () => {
  it('has a default for everything but the inputs and the assistant', () => {
    const judge = Judge.parse(LEAST);
    expect(judge.onInconclusive).toBe('ask');
    expect(judge.again).toEqual({ after: 3_600_000, times: 2 });
    expect(judgeSettings(judge)).toEqual({
      ...DEFAULT_SETTINGS,
      assistant: 'greeter',
      policy: DEFAULT_POLICY,
    });
  });

  it('decides by exactly the metrics that it names', () => {
    const judge = Judge.parse({ ...LEAST, metrics: { latency: 0.3 }, runTimeout: '5s', repetitions: 4 });
    const settings = judgeSettings(judge);
    expect(settings.policy.smallestEffects).toEqual({ latency: 0.3 });
    expect(settings).toMatchObject({ runTimeoutMs: 5_000, repetitions: 4 });
  });

  it.each([
    [{ assistant: 'greeter' }, 'expected a file of inputs'],
    [{ ...LEAST, recorded: true }, 'and not both'],
    [{ assistant: 'greeter', recorded: true, expect: { not: { reference: 'equals' } } }, 'do not have'],
    [{ ...LEAST, metrics: {} }, 'at least one metric'],
    [{ ...LEAST, metrics: { speed: 1 } }, 'speed'],
    [{ ...LEAST, metrics: { latency: 0 } }, 'more than 0'],
    [{ ...LEAST, metrics: { score: 0.1 } }, 'since the metric score decides'],
    [{ ...LEAST, confidence: 1 }, 'below 1'],
    [{ ...LEAST, onInconclusive: 'promote' }, 'wait'],
  ])('rejects %j', (judge, words) => {
    const { error } = Judge.safeParse(judge);
    expect(JSON.stringify(error?.issues)).toContain(words);
  });
});
