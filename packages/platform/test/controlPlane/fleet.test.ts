import { setTimeout as sleep } from 'node:timers/promises';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { HAND_OVER_MS } from '../../src/runtime/agentStart.ts';
import { type AgentSpec, Fleet, STARTS_AT_ONCE, restartDelay } from '../../src/controlPlane/fleet.ts';
import { createLogger } from '../../src/http/logger.ts';
import { FakeAgent } from './fakeAgent.ts';

let fleet: Fleet;
/** The calls to the gateway, in order. */
let told: string[];
let started: FakeAgent[];
let failStarts: boolean;
let requestsOver: Promise<void>;

beforeEach(() => {
  told = [];
  started = [];
  failStarts = false;
  requestsOver = Promise.resolve();
  fleet = new Fleet({
    log: createLogger({ level: 'silent' }),
    readyTimeoutMs: 1_000,
    drainTimeoutMs: 100,
    closeTimeoutMs: 10,
    gateway: {
      register: (id, { starting }) => void told.push(`${id} ${starting ? 'starting' : 'idle'}`),
      switchTo: (id, { revisionId }) => {
        told.push(`${id} to ${revisionId}`);
        return requestsOver;
      },
      remove: (id) => {
        told.push(`${id} removed`);
        return requestsOver;
      },
    },
  });
});

function spec(revisionId: string): AgentSpec {
  return {
    deploymentId: 'd',
    revisionId,
    start: () => {
      if (failStarts) return Promise.reject(new Error('does not start'));
      const agent = new FakeAgent();
      started.push(agent);
      return Promise.resolve(agent);
    },
  };
}

const agentAt = (index: number): FakeAgent => {
  const agent = started[index];
  if (agent === undefined) throw new Error(`No agent number ${index} was started.`);
  return agent;
};

async function serve(revisionId: string): Promise<void> {
  const agent = await fleet.start(spec(revisionId), new AbortController().signal);
  fleet.handOver(spec(revisionId), agent).finish();
}

describe('the fleet', () => {
  it('drains the old agent until its last request ends, up to a limit', async () => {
    await serve('a');
    let over = (): void => undefined;
    requestsOver = new Promise((resolve) => (over = resolve));
    await serve('b');
    expect(agentAt(0).drained).toBe(false);
    over();
    await vi.waitFor(() => expect(agentAt(0).drainedMs).toBe(100 + HAND_OVER_MS), 10_000);
    requestsOver = new Promise(() => undefined);
    await serve('c');
    await vi.waitFor(() => expect(agentAt(1).drainedMs).toBe(100 + HAND_OVER_MS), 10_000);
    expect(started).toHaveLength(3);
  });

  it('returns to the old agent if a switch is undone', async () => {
    await serve('a');
    const agent = await fleet.start(spec('b'), new AbortController().signal);
    fleet.handOver(spec('b'), agent).undo();
    expect(told).toEqual(['d to a', 'd to b', 'd to a']);
    expect(agentAt(1).killed).toBe(true);
    // The old one is still supervised; the one that was stopped is not.
    agentAt(0).crash();
    await vi.waitFor(() => expect(told.at(-1)).toBe('d to a'), 10_000);
    await vi.waitFor(() => expect(started).toHaveLength(3), 10_000);
  });

  it('restarts the old agent if it died while a switch was undone', async () => {
    await serve('a');
    const agent = await fleet.start(spec('b'), new AbortController().signal);
    const handover = fleet.handOver(spec('b'), agent);
    agentAt(0).crash();
    await agentAt(0).exited;
    await Promise.resolve();
    await sleep(0);
    handover.undo();
    await vi.waitFor(() => expect(started).toHaveLength(3), 10_000);
    await vi.waitFor(() => expect(told.at(-1)).toBe('d to a'), 10_000);
  });

  it('serves nothing after the first switch is undone', async () => {
    const agent = await fleet.start(spec('a'), new AbortController().signal);
    fleet.handOver(spec('a'), agent).undo();
    expect(told).toEqual(['d to a', 'd removed', 'd idle']);
  });

  it('reports a restarting agent to the gateway, and continues if it does not start', async () => {
    await serve('a');
    failStarts = true;
    agentAt(0).crash();
    await vi.waitFor(() => expect(told).toContain('d starting'), 10_000);
    failStarts = false;
    await vi.waitFor(() => expect(told.at(-1)).toBe('d to a'), 5_000);
  });

  it('restarts no agent that was switched away from, removed or closed', async () => {
    await serve('a');
    await serve('b');
    await vi.waitFor(() => expect(agentAt(0).drainedMs).toBe(100 + HAND_OVER_MS), 10_000);
    await fleet.remove('d');
    expect(agentAt(1).drainedMs).toBe(100 + HAND_OVER_MS);
    await serve('c');
    await fleet.close();
    expect(agentAt(2).drainedMs).toBe(10);
    expect(started).toHaveLength(3);
  });

  it('restores what served before, and keeps trying', async () => {
    failStarts = true;
    fleet.restore(spec('a'));
    await vi.waitFor(
      () => expect(told.filter((line) => line === 'd starting').length).toBeGreaterThan(1),
      10_000,
    );
    failStarts = false;
    await vi.waitFor(() => expect(told.at(-1)).toBe('d to a'), 5_000);
    await fleet.close();
  });
});

it('few agents are restored at once, so that each starts within the timeout, and a new revision does not wait', async () => {
  const ends: (() => void)[] = [];
  const slow = (index: number): AgentSpec => ({
    ...spec('a'),
    deploymentId: `d${index}`,
    start: () => new Promise((resolve) => ends.push(() => resolve(new FakeAgent()))),
  });
  for (let index = 0; index < 3 * STARTS_AT_ONCE; index++) fleet.restore(slow(index));
  for (const wave of [1, 2, 3]) {
    await vi.waitFor(() => expect(ends).toHaveLength(wave * STARTS_AT_ONCE));
    await serve('new');
    expect(ends).toHaveLength(wave * STARTS_AT_ONCE);
    for (const end of ends) end();
  }
  await vi.waitFor(() => expect(fleet.count()).toEqual({ running: 3 * STARTS_AT_ONCE + 1, starting: 0 }));
  await fleet.close();
});

it('new agents start a few at a time, unless their start is canceled', async () => {
  const ends: (() => void)[] = [];
  const canceling = new AbortController();
  const waiting = new AbortController();
  const slow: AgentSpec = {
    ...spec('a'),
    start: () => new Promise((resolve) => ends.push(() => resolve(new FakeAgent()))),
  };
  const first = Array.from({ length: STARTS_AT_ONCE }, () => fleet.start(slow, waiting.signal));
  const canceled = fleet.start(slow, canceling.signal);
  const next = fleet.start(slow, waiting.signal);
  canceling.abort(new Error('Another revision goes first.'));
  await expect(canceled).rejects.toThrow('Another revision goes first.');
  expect(ends).toHaveLength(STARTS_AT_ONCE);
  for (const end of ends) end();
  await Promise.all(first);
  await vi.waitFor(() => expect(ends).toHaveLength(STARTS_AT_ONCE + 1));
  ends.at(-1)?.();
  await next;
});

it('an agent is restarted immediately, then with growing pauses, up to half a minute', () => {
  const delays = [-1, 0, 1, 2, 3, 6, 7, 8, 1_000].map(restartDelay);
  expect(delays).toEqual([0, 0, 500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000]);
});
