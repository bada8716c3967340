import { describe, expect, it } from 'vitest';

import { jsonBytes } from '../../../src/domain/bounds.ts';
import type { HookDelivery, HookOrder } from '../../../src/domain/hooks/hookEvent.ts';
import { answerAsk, ask, EMPTY_HOOK, takeWork } from '../../../src/domain/hooks/hookState.ts';
import { KEPT, settled } from '../../hooks/hookRequests.ts';
import { eventsOf, takeDelivery } from '../../../src/domain/hooks/takeDelivery.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOLD: HookOrder = { target: 'production', workflowId: 'target:1', do: 'hold', kept: KEPT };

function delivery(ids: readonly string[], rules: readonly string[] = ['stop'], order = HOLD): HookDelivery {
  const matches = rules.map((rule) => ({ rule, guards: {}, order: 0 }));
  return { events: ids.map((id) => ({ id, title: id, status: 'firing', matches })), orders: [order] };
}

function ids(count: number, prefix = 'event'): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${prefix}-${number}`);
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
    expect(again).toEqual({ id: 'a', disposition: 'duplicate', decisions: [], became: ['not_met'] });
    const { rows, past } = eventsOf(state);
    expect(rows.length + (past.not_met ?? 0)).toBe(2_001);
  });

  it('stays small under many events, and keeps the waiting ones', () => {
    const { state } = takeDelivery(EMPTY_HOOK, delivery(['waits']), NOW);
    let flooded = takeDelivery(state, delivery(ids(10_000, 'none'), []), NOW).state;
    expect(flooded.rows.some(({ id }) => id === 'waits')).toBe(true);
    for (let round = 0; round < 120; round++)
      flooded = settled(takeDelivery(flooded, delivery(ids(100, `round-${round}`)), NOW).state);
    flooded = takeDelivery(flooded, delivery(ids(10_000)), NOW).state;
    expect(flooded.queue).toHaveLength(200);
    expect(flooded.past).toHaveLength(10_000);
    expect(jsonBytes(flooded)).toBeLessThan(1_500_000);
  });

  it('does not take an event that it has no room for, and takes it once there is some', () => {
    const { answers, state } = takeDelivery(EMPTY_HOOK, delivery(ids(201)), NOW);
    expect(answers.slice(0, 200).every(({ disposition }) => disposition === 'taken')).toBe(true);
    expect(answers.at(-1)).toEqual({ id: 'event-200', disposition: 'full', decisions: [] });
    expect(state.rows).toHaveLength(200);
    const later = takeDelivery(settled(state), delivery(['event-200']), NOW);
    expect(later.answers).toMatchObject([{ disposition: 'taken' }]);
  });

  it('takes all work of an event or none', () => {
    const { state } = takeDelivery(EMPTY_HOOK, delivery(ids(199)), NOW);
    const both = takeDelivery(state, delivery(['both'], ['stop', 'again']), NOW);
    expect(both.answers).toMatchObject([{ disposition: 'full' }]);
    expect(both.state).toMatchObject({ queue: state.queue, orders: state.orders });
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
    // Nothing else waits, so it would never have more room.
    expect(answers[0]?.decisions.map(({ state: how }) => how)).toEqual([
      'waiting',
      'waiting',
      'waiting',
      'failed',
      'failed',
    ]);
  });

  it('takes an answer until the deadline, once', () => {
    const taken = takeWork(takeDelivery(EMPTY_HOOK, delivery(['a']), NOW).state, new Set());
    if (taken === undefined) throw new Error('no work');
    const asking = ask(taken.state, { work: taken.work, untilMs: NOW + 1_000 }, 'why');
    const answer = { approved: true, by: { who: 'bo', from: 'test' } };
    expect(answerAsk(asking, 'a', answer, { requestId: 'late', now: NOW + 1_000 })).toBeNull();
    const answered = answerAsk(asking, 'a', answer, { requestId: 'one', now: NOW + 999 });
    expect(answered?.asks).toMatchObject([{ answer }]);
    expect(answerAsk(answered!, 'a', answer, { requestId: 'one', now: NOW + 2_000 })).toBe(answered);
    expect(answerAsk(answered!, 'a', answer, { requestId: 'two', now: NOW + 999 })).toBeNull();
  });
});
