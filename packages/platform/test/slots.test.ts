import { describe, expect, it } from 'vitest';

import { Slots } from '../src/slots.ts';

const never = new AbortController().signal;

describe('slots', () => {
  it('are given in order, each to one', async () => {
    const slots = new Slots(1);
    const first = await slots.acquire(never);
    const order: string[] = [];
    const second = slots.acquire(never).then((leave) => (order.push('second'), leave));
    const third = slots.acquire(never).then((leave) => (order.push('third'), leave));
    expect(order).toEqual([]);
    first?.();
    const leaveSecond = await second;
    expect(order).toEqual(['second']);
    leaveSecond?.();
    (await third)?.();
    expect(await slots.acquire(never)).toBeTypeOf('function');
  });

  it('are not lost to a stopped waiter', async () => {
    const slots = new Slots(1);
    const leave = await slots.acquire(never);
    const stopped = new AbortController();
    const waiting = slots.acquire(stopped.signal);
    stopped.abort();
    expect(await waiting).toBeUndefined();
    expect(await slots.acquire(stopped.signal)).toBeUndefined();
    leave?.();
    expect(await slots.acquire(never)).toBeTypeOf('function');
  });
});
