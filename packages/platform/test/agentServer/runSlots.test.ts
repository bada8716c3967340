import { describe, expect, it } from 'vitest';

import { RunSlots } from '../../src/agentServer/runs/runSlots.ts';

const never = new AbortController().signal;

describe('places for runs', () => {
  it('are given in order, and each once', async () => {
    const slots = new RunSlots(1);
    const first = await slots.acquire(never);
    const order: string[] = [];
    const second = slots.acquire(never).then((leave) => (order.push('second'), leave));
    const third = slots.acquire(never).then((leave) => (order.push('third'), leave));
    expect(order).toEqual([]);
    first?.();
    first?.();
    const leaveSecond = await second;
    expect(order).toEqual(['second']);
    leaveSecond?.();
    (await third)?.();
    expect(await slots.acquire(never)).toBeTypeOf('function');
  });

  it('are not waited for by who was stopped, and not lost to it', async () => {
    const slots = new RunSlots(1);
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
