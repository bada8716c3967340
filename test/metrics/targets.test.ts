import { describe, expect, it } from 'vitest';

import { EMPTY_TARGET } from '../../src/domain/target/targetState.ts';
import { observeTargets, targetFigures } from '../../src/metrics/targets.ts';
import { answeringTemporal } from '../temporal/client/answeringTemporal.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const HALF_PAST = '2026-01-01T00:30:00Z';
const state = { ...EMPTY_TARGET, spec: { name: 'production' } } as never as typeof EMPTY_TARGET;
const running = { releaseId: 'release-7', workflowId: 'w/release-7', kind: 'release' } as never;

const valuesOf = (figures: ReturnType<typeof targetFigures>): Record<string, number> =>
  Object.fromEntries((figures ?? []).map(({ name, value }) => [name, value]));

describe('the gauges of a target', () => {
  it('are none before its first release', () => {
    expect(targetFigures({ state: EMPTY_TARGET, running: null }, null, NOW)).toBeNull();
  });

  it('show how long a release and its step have run', () => {
    const progress = {
      startedAt: '2026-01-01T00:00:00Z',
      waiting: null,
      steps: [{ step: 'deployed', status: 'running', startedAt: HALF_PAST }],
    } as never;
    expect(valuesOf(targetFigures({ state, running }, progress, NOW))).toMatchObject({
      slipway_target_running_seconds: 3_600,
      slipway_target_step_seconds: 1_800,
    });
  });

  it('do not report a soak, or a wait for people, as a stuck step', () => {
    const soaking = {
      startedAt: HALF_PAST,
      waiting: null,
      steps: [{ step: 'soak', status: 'running', startedAt: HALF_PAST }],
    } as never;
    expect(valuesOf(targetFigures({ state, running }, soaking, NOW))['slipway_target_step_seconds']).toBe(0);
    const waiting = {
      startedAt: HALF_PAST,
      steps: [],
      waiting: { for: 'approval', since: HALF_PAST },
    } as never;
    expect(valuesOf(targetFigures({ state, running }, waiting, NOW))).toMatchObject({
      slipway_target_step_seconds: 0,
      slipway_target_waiting_seconds: 1_800,
    });
  });

  it('name the outcome that needs a person', () => {
    const needsPerson = { releaseId: 'release-7', since: HALF_PAST, instructions: 'secret words' };
    const history = [{ releaseId: 'release-7', outcome: 'rollback_failed' }] as never;
    const figures = targetFigures({ state: { ...state, needsPerson, history }, running: null }, null, NOW);
    expect(figures).toContainEqual({
      name: 'slipway_target_needs_person',
      value: 1,
      labels: { target: 'production', outcome: 'rollback_failed' },
    });
    expect(JSON.stringify(figures)).not.toContain('secret');
  });
});

function observing() {
  const target = { historyLength: 10, hold: {} as unknown, isSilent: false };
  let queries = 0;
  const handle = {
    describe: () => Promise.resolve({ runId: 'run', historyLength: target.historyLength }),
    query: () => {
      queries += 1;
      if (target.isSilent) return Promise.reject(new Error('no answer'));
      return Promise.resolve({ state: { ...state, hold: target.hold }, running: null });
    },
  };
  const workflow = {
    list: async function* () {
      yield await Promise.resolve({ workflowId: 'target:1', typedSearchAttributes: new Map() });
    },
    getHandle: () => handle,
  };
  const looks: (() => void)[] = [];
  const kept: Record<string, number[]> = {};
  const ending = new AbortController();
  const observed = observeTargets(
    answeringTemporal({ workflow }),
    (name, value) => {
      (kept[name] ??= []).push(value);
      if (name === 'slipway_workers') looks.shift()?.();
    },
    { signal: ending.signal, everyMs: 5 },
  );
  return {
    target,
    kept,
    queries: () => queries,
    look: () => new Promise<void>((resolve) => looks.push(resolve)),
    end: () => (ending.abort(), observed),
  };
}

describe('the reader of targets', () => {
  it('ends at once, although Temporal does not answer', async () => {
    const ending = new AbortController();
    const list = async function* () {
      setImmediate(() => ending.abort());
      yield await new Promise(() => undefined);
    };
    const temporal = answeringTemporal({ workflow: { list } });
    await observeTargets(temporal, () => undefined, { signal: ending.signal });
  });

  it('queries a target again only if its history has grown, and clears finished values', async () => {
    const { target, kept, queries, look, end } = observing();
    await look();
    await look();
    await look();
    expect(queries()).toBe(1);
    expect(new Set(kept['slipway_target_on_hold'])).toEqual(new Set([1]));
    Object.assign(target, { historyLength: 12, hold: null });
    await look();
    await look();
    expect(queries()).toBe(2);
    expect(kept['slipway_target_on_hold']?.at(-1)).toBe(0);
    await end();
  });

  it('keeps the values of a target that does not answer', async () => {
    const { target, kept, look, end } = observing();
    const last = () => ({
      holds: kept['slipway_target_on_hold']?.at(-1),
      unanswered: kept['slipway_unanswered_targets']?.at(-1),
    });
    await look();
    expect(last()).toEqual({ holds: 1, unanswered: 0 });
    Object.assign(target, { historyLength: 12, isSilent: true });
    await look();
    await look();
    expect(last()).toEqual({ holds: 1, unanswered: 1 });
    await end();
  });
});
