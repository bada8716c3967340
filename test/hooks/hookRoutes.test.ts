import { describe, expect, it, vi } from 'vitest';

import { SlipwayError } from '../../src/domain/errors.ts';
import { DeliveryQueue } from '../../src/hooks/deliveryQueue.ts';
import { BODY_MAX_BYTES } from '../../src/hooks/hookRoutes.ts';
import { hookOf, KEPT, ListenerUnderTest, SECRET } from './hookRequests.ts';

const BEARER = { authorization: `Bearer ${SECRET}` };

function alerts(...fingerprints: readonly string[]): string {
  return JSON.stringify({
    alerts: fingerprints.map((fingerprint) => ({
      status: 'firing',
      labels: { alertname: 'AnswersWorse', target: 'staging' },
      startsAt: '2026-01-01T11:00:00Z',
      fingerprint,
    })),
  });
}

function numbered(count: number, from: number): readonly string[] {
  return Array.from({ length: count }, (_, number) => `fp-${from + number}`);
}

describe('the listener of hooks', () => {
  it('answers with the decision about each event, and a redelivered one with the first decision', async () => {
    const listener = new ListenerUnderTest(hookOf('alertmanager'));
    expect(await listener.post(alerts('a'), BEARER)).toMatchObject({
      status: 202,
      events: [{ disposition: 'taken' }],
    });
    expect(await listener.post(alerts('a', 'b'), BEARER)).toMatchObject({
      status: 202,
      events: [{ disposition: 'duplicate' }, { disposition: 'taken' }],
    });
    expect(await listener.post(alerts('a', 'b'), BEARER)).toMatchObject({ status: 200 });
  });

  it('controls the targets that a rule names, or the one of them that the event names', async () => {
    const both = '{ name: all, do: hold, targets: [staging, production] }';
    const named = '{ name: one, do: abort, targets: [staging, production], targetFrom: labels.target }';
    const listed = '{ name: none, do: abort, targets: [production], targetFrom: labels.target }';
    const listener = new ListenerUnderTest(hookOf('alertmanager', `[${both}, ${named}, ${listed}]`));
    await listener.post(alerts('a'), BEARER);
    const [delivery] = listener.told;
    expect(delivery?.orders).toEqual([
      { target: 'staging', workflowId: 'target:staging', do: 'hold', kept: KEPT },
      { target: 'production', workflowId: 'target:production', do: 'hold', kept: KEPT },
      { target: 'staging', workflowId: 'target:staging', do: 'abort' },
    ]);
    expect(delivery?.events[0]?.matches.map(({ rule, order }) => [rule, order])).toEqual([
      ['all', 0],
      ['all', 1],
      ['one', 2],
    ]);
  });

  it('rejects an unknown hook with 404, an invalid body with 400, and a long one with 413', async () => {
    const listener = new ListenerUnderTest(hookOf('alertmanager'));
    expect(await listener.post('{}', BEARER, '/hooks/other')).toMatchObject({
      status: 404,
      error: { code: 'SLIPWAY_HOOK_UNKNOWN' },
    });
    expect(await listener.post('{"alerts":', BEARER)).toMatchObject({
      status: 400,
      error: { code: 'SLIPWAY_HOOK_PAYLOAD' },
    });
    expect(await listener.post('x'.repeat(BODY_MAX_BYTES + 1), BEARER)).toMatchObject({
      status: 413,
      error: { code: 'SLIPWAY_HOOK_TOO_LARGE' },
    });
    expect(listener.answered.map(({ status }) => status)).toEqual([404, 400, 413]);
  });

  it('answers 503 with a Retry-After and without details if its secret is missing or Temporal is away', async () => {
    const secretless = new ListenerUnderTest(hookOf('alertmanager'), {});
    const answer = await secretless.post(alerts('a'), BEARER);
    expect(answer).toMatchObject({ status: 503, error: { code: 'SLIPWAY_SECRET_MISSING' } });
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(JSON.stringify(answer)).not.toContain('env:SECRET');
    const away = new ListenerUnderTest(hookOf('alertmanager'));
    away.before = () =>
      Promise.reject(new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', 'Temporal at x is away'));
    expect(await away.post(alerts('a'), BEARER)).toMatchObject({
      status: 503,
      error: {
        code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
        message: 'the event was not accepted: send it again later',
      },
    });
    away.before = () => Promise.resolve();
    expect(await away.post(alerts('a'), BEARER)).toMatchObject({ status: 202 });
  });

  it('refuses the deliveries that wait behind one that Temporal does not answer, without asking again', async () => {
    const silence = new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', 'Temporal at x is away');
    const send = vi.fn(() => Promise.reject(silence));
    const queue = new DeliveryQueue(send);
    const empty = { events: [], orders: [] };
    const both = await Promise.allSettled([queue.deliver(empty), queue.deliver(empty)]);
    expect(both).toEqual(Array(2).fill({ status: 'rejected', reason: silence }));
    expect(send).toHaveBeenCalledOnce();
  });

  it('sends simultaneous deliveries in few messages, and answers each', async () => {
    const listener = new ListenerUnderTest(hookOf('alertmanager'));
    const sent = Array.from({ length: 300 }, (_, number) => listener.post(alerts(`fp-${number}`), BEARER));
    const ids = (await Promise.all(sent)).map(({ events }) => events?.[0]?.id);
    expect(new Set(ids).size).toBe(300);
    expect(listener.told.length).toBeLessThan(10);
  });

  it('answers 503 with a Retry-After while too many events wait to be decided, and stores none of them', async () => {
    const listener = new ListenerUnderTest(hookOf('alertmanager'));
    listener.decides = false;
    for (let sent = 0; sent < 200; sent += 100)
      expect(await listener.post(alerts(...numbered(100, sent)), BEARER)).toMatchObject({ status: 202 });
    const full = await listener.post(alerts('one-more'), BEARER);
    expect(full).toMatchObject({ status: 503, error: { code: 'SLIPWAY_HOOK_BUSY' } });
    expect(full.headers.get('retry-after')).toBe('2');
    expect(full.headers.get('connection')).toBe('close');
    listener.decides = true;
    await listener.post(alerts('fp-0'), BEARER);
    expect(await listener.post(alerts('one-more'), BEARER)).toMatchObject({
      status: 202,
      events: [{ disposition: 'taken' }],
    });
  });

  it('rejects with 503 what it has no room for, and answers each of the others', async () => {
    const listener = new ListenerUnderTest(hookOf('alertmanager'));
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    listener.before = () => opened;
    const sent = Array.from({ length: 1_200 }, (_, number) => listener.post(alerts(`fp-${number}`), BEARER));
    const busy = await Promise.race(sent.slice(1_000));
    expect(busy).toMatchObject({ status: 503, error: { code: 'SLIPWAY_HOOK_BUSY' } });
    open();
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(200);
    expect(statuses.filter((status) => status === 202)).toHaveLength(1_000);
  });
});
