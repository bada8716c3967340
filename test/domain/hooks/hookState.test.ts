import { describe, expect, it } from 'vitest';

import { jsonBytes } from '../../../src/domain/bounds.ts';
import type { HookDelivery, HookOrder } from '../../../src/domain/hooks/hookEvent.ts';
import {
  EMPTY_HOOK,
  type HookState,
  settle,
  takeDelivery,
  takeWork,
} from '../../../src/domain/hooks/hookState.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOLD: HookOrder = { target: 'production', workflowId: 'target:1', do: 'hold' };

function delivery(ids: readonly string[], rules: readonly string[] = ['stop'], order = HOLD): HookDelivery {
  const matches = rules.map((rule) => ({ rule, guards: {}, order: 0 }));
  return { events: ids.map((id) => ({ id, title: id, status: 'firing', matches })), orders: [order] };
}

function ids(count: number, prefix = 'event'): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${prefix}-${number}`);
}

function settled(state: HookState): HookState {
  const taken = takeWork(state, new Set());
  return taken === undefined ? state : settled(settle(taken.state, taken.work, 'not_met', 'a guard'));
}

describe('a hook’s state', () => {
  it('counts a matching event once, in one delivery and later, at any time', () => {
    const first = takeDelivery(EMPTY_HOOK, delivery(['a', 'a']), NOW);
    expect(first.answers.map(({ disposition }) => disposition)).toEqual(['taken', 'duplicate']);
    let { state } = first;
    for (let round = 0; round < 20; round++)
      state = settled(takeDelivery(state, delivery(ids(100, `round-${round}`)), NOW).state);
    expect(state.rows.some(({ id }) => id === 'a')).toBe(false);
    const [again] = takeDelivery(state, delivery(['a']), NOW).answers;
    expect(again).toEqual({ id: 'a', disposition: 'duplicate', decisions: [] });
  });

  it('stays small under many events, and keeps the waiting ones', () => {
    const { state } = takeDelivery(EMPTY_HOOK, delivery(['waits']), NOW);
    let flooded = takeDelivery(state, delivery(ids(10_000, 'none'), []), NOW).state;
    flooded = takeDelivery(flooded, delivery(ids(10_000)), NOW).state;
    expect(flooded.rows.some(({ id }) => id === 'waits')).toBe(true);
    expect(flooded.queue).toHaveLength(200);
    expect(flooded.seen.length).toBeLessThanOrEqual(10_000);
    expect(jsonBytes(flooded)).toBeLessThan(1_500_000);
  });

  it('rejects an event that it has no room for', () => {
    const { answers } = takeDelivery(EMPTY_HOOK, delivery(ids(201)), NOW);
    expect(answers.at(-1)?.decisions).toMatchObject([{ state: 'failed', note: 'too many events wait' }]);
  });

  it('takes no work for a busy target, but for others', () => {
    const elsewhere = { ...HOLD, target: 'staging' };
    const first = takeDelivery(EMPTY_HOOK, delivery(['a', 'b']), NOW).state;
    const { state } = takeDelivery(first, delivery(['c'], ['stop'], elsewhere), NOW);
    const busy = new Set(['production']);
    expect(takeWork(state, busy)?.work.event.id).toBe('c');
    expect(takeWork(state, new Set(['production', 'staging']))).toBeUndefined();
  });

  it('drops the releases that no event waits for', () => {
    const { state } = takeDelivery(EMPTY_HOOK, delivery(['a', 'b']), NOW);
    expect(Object.keys(state.orders)).toEqual(['stop production']);
    expect(settled(state).orders).toEqual({});
  });

  it('keeps waiting releases within Temporal’s limit', () => {
    const order = { ...HOLD, do: 'release', request: { text: 'x'.repeat(190_000) } } as unknown as HookOrder;
    const { state, answers } = takeDelivery(EMPTY_HOOK, delivery(['a'], ids(5, 'rule'), order), NOW);
    expect(jsonBytes(state)).toBeLessThan(1_500_000);
    expect(answers[0]?.decisions.map(({ state: how }) => how)).toEqual([
      'waiting',
      'waiting',
      'waiting',
      'failed',
      'failed',
    ]);
  });
});
