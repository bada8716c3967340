import type { Deployment } from '@slipway/contract/controlPlane/deployment';
import type { Revision } from '@slipway/contract/controlPlane/revision';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { RequestRates } from '../../../src/activities/deployment/requestRates.ts';
import { RevisionWatcher } from '../../../src/activities/deployment/revisionWatcher.ts';
import { ServiceError } from '../../../src/clients/serviceError.ts';
import { UNREADABLE } from '../../../src/messages/revisionPoller.ts';

const PLANE = 'http://plane.example';
const ANSWER_MS = 2;
const MINUTE = 60_000;

// Minutes with 10,000 revisions are seconds of computing, and more on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([
  { waiting: 49, lists: false, withinMs: 15_100 },
  { waiting: 3_000, lists: false, withinMs: 15_100 },
  { waiting: 3_000, lists: true, withinMs: 15_000 },
  { waiting: 10_000, lists: false, withinMs: 50_100 },
  { waiting: 10_000, lists: true, withinMs: 15_000 },
])('polls each of $waiting within $withinMs ms, lists: $lists', async ({ waiting, lists, withinMs }) => {
  const plane = new Plane(waiting, lists);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  const { longest, perSecond } = await plane.looksDuring(MINUTE);
  expect(longest).toBeLessThanOrEqual(withinMs);
  expect(perSecond).toBeLessThanOrEqual(200.2);
});

it('makes fewer calls if there are lists', async () => {
  const plane = new Plane(1_000, true);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect((await plane.looksDuring(MINUTE)).perSecond).toBeLessThan(25);
});

it.each([false, true])(
  'sees 10,000 that become active at the same time within a minute, lists: %s',
  async (lists) => {
    const plane = new Plane(10_000, lists);
    plane.watchAll(Date.now() - 10 * MINUTE);
    await vi.advanceTimersByTimeAsync(MINUTE);
    plane.comeUp(plane.ids);
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect([...plane.seen.values()].filter((status) => status === 'DEPLOYED')).toHaveLength(10_000);
  },
);

it('sees one of 10,000 that becomes active in the next list', async () => {
  const plane = new Plane(10_000, true);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  for (const id of plane.ids.filter((_, index) => index % 2_500 === 0)) {
    plane.comeUp([id]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(plane.seen.get(id)).toBe('DEPLOYED');
  }
});

it('polls within a tenth of the age if few wait', async () => {
  const plane = new Plane(1, false);
  plane.watchAll(Date.now() - 10_000);
  await vi.advanceTimersByTimeAsync(30_000);
  // Once at 10 s, then at intervals that grow by a tenth.
  expect(plane.asked.get(plane.ids[0] ?? '')).toHaveLength(15);
});

it('lets another kind of poll go first', async () => {
  const rates = new RequestRates();
  const plane = new Plane(10_000, false, rates);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(rates.reserve(PLANE) - performance.now()).toBeLessThanOrEqual(10);
});

it.each([
  ['has no list', () => Promise.reject(failure('SLIPWAY_NOT_FOUND'))],
  ['lists something else', () => Promise.resolve({ resources: [deployment('foreign')], offset: 0 })],
  ['answers something else', () => Promise.reject(failure('SLIPWAY_BAD_ANSWER'))],
])('polls each revision if the control plane %s, and requests no list again', async (_, list) => {
  const plane = new Plane(1_000, true);
  plane.listDeployments.mockImplementation(list);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(plane.listDeployments).toHaveBeenCalledOnce();
  expect((await plane.looksDuring(MINUTE)).longest).toBeLessThanOrEqual(15_100);
});

it('continues for the next watcher, without an immediate poll', async () => {
  const plane = new Plane(1, false);
  const [stop] = plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(2_000);
  stop?.(false);
  plane.seen.clear();
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(plane.asked.get(plane.ids[0] ?? '')).toHaveLength(1);
  expect([...plane.seen.values()]).toEqual(['DEPLOYING']);
});

it('continues at its pace if the machine’s clock is set back', async () => {
  const plane = new Plane(1, false);
  plane.watchAll(Date.now() - 10 * MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  vi.setSystemTime(Date.now() - 5 * MINUTE);
  plane.asked.clear();
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(plane.asked.get(plane.ids[0] ?? '')).toHaveLength(4);
});

it('ends without watchers', async () => {
  const plane = new Plane(2, false);
  const [stop, stopOther] = plane.watchAll(Date.now());
  await vi.advanceTimersByTimeAsync(100);
  stop?.(true);
  stopOther?.(false);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(vi.getTimerCount()).toBe(0);
});

it('pauses for a control plane that asks to wait, but not for an error of one revision', async () => {
  const plane = new Plane(2, false);
  const [broken = '', other = ''] = plane.ids;
  plane.getRevision.mockImplementationOnce(() => Promise.reject(failure('SLIPWAY_SERVICE_ERROR')));
  plane.watchAll(Date.now());
  await vi.advanceTimersByTimeAsync(500);
  expect(plane.seen.get(broken)).toBeUndefined();
  expect(plane.seen.get(other)).toBe('DEPLOYING');
  plane.getRevision.mockImplementationOnce(() => Promise.reject(failure('SLIPWAY_RATE_LIMITED', 20_000)));
  await vi.advanceTimersByTimeAsync(2_000);
  plane.asked.clear();
  await vi.advanceTimersByTimeAsync(18_000);
  expect(plane.asked.size).toBe(0);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(plane.asked.size).toBe(2);
});

it('reports that a revision cannot be read', async () => {
  const plane = new Plane(1, false);
  plane.getRevision.mockImplementationOnce(() => Promise.reject(failure('SLIPWAY_NOT_FOUND')));
  plane.watchAll(Date.now());
  await vi.advanceTimersByTimeAsync(100);
  expect([...plane.seen.values()]).toEqual([UNREADABLE]);
});

/** A control plane with one revision in each deployment, and a watcher of all of them. */
class Plane {
  readonly ids: readonly string[];
  /** When each revision was read, alone or in a list. */
  readonly asked = new Map<string, number[]>();
  /** The watcher's last report on each revision. */
  readonly seen = new Map<string, string>();
  #requests = 0;
  readonly #up = new Set<string>();
  readonly #watcher: RevisionWatcher;
  readonly getRevision = vi.fn(async (id: string): Promise<Revision> => {
    await this.#answer([id]);
    return {
      id: `${id}-revision`,
      status: this.#up.has(id) ? 'DEPLOYED' : 'DEPLOYING',
    };
  });
  readonly listDeployments = vi.fn(
    async ({ deployment_ids: ids = [] }: { deployment_ids?: string[] } = {}) => {
      await this.#answer(ids);
      const resources = ids.map((id) => deployment(id, this.#up.has(id) ? `${id}-revision` : null));
      return { resources, offset: 0 };
    },
  );

  constructor(size: number, lists: boolean, rates = new RequestRates()) {
    this.ids = Array.from({ length: size }, (_, index) => `deployment-${index}`);
    const { getRevision, listDeployments } = this;
    const client = lists ? { getRevision, listDeployments } : { getRevision };
    this.#watcher = new RevisionWatcher(client, PLANE, rates);
  }

  watchAll(since: number) {
    return this.ids.map((deploymentId) =>
      this.#watcher.watch({ deploymentId, revisionId: `${deploymentId}-revision`, since }, (status) =>
        this.seen.set(deploymentId, status),
      ),
    );
  }

  comeUp(ids: readonly string[]): void {
    for (const id of ids) this.#up.add(id);
  }

  /** The longest time without a request, and the number of requests per second. */
  async looksDuring(milliseconds: number): Promise<{ readonly longest: number; readonly perSecond: number }> {
    this.asked.clear();
    this.#requests = 0;
    const from = Date.now();
    await vi.advanceTimersByTimeAsync(milliseconds);
    const longest = this.ids.map((id) => {
      const moments = [from, ...(this.asked.get(id) ?? []), Date.now()];
      return Math.max(...moments.slice(1).map((at, index) => at - (moments[index] ?? at)));
    });
    return { longest: Math.max(...longest), perSecond: (this.#requests * 1_000) / milliseconds };
  }

  async #answer(ids: readonly string[]): Promise<void> {
    this.#requests++;
    for (const id of ids) {
      const moments = this.asked.get(id) ?? [];
      this.asked.set(id, moments);
      moments.push(Date.now());
    }
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
  }
}

function deployment(id: string, active: string | null = null): Deployment {
  const fields = { id, active_revision_id: active, latest_revision_id: `${id}-revision` };
  return { ...fields, updated_at: '2026-01-01T00:00:00Z' } as unknown as Deployment;
}

function failure(code: ServiceError['code'], retryAfterMs?: number): ServiceError {
  return new ServiceError(code, 'failed', {
    method: 'GET',
    path: '/',
    mayHaveBeenTaken: false,
    retryAfterMs,
  });
}
