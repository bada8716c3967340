import type { RunApi } from './runApi.ts';
import { summarize } from './statistics.ts';

/** The first ones open connections and warm the just-in-time compiler up. */
const WARM_UP = 5;

/**
 * The node says when it began, by the clock of this machine. Runs are made one after another on threads of their own,
 * which are there before; what is measured begins before the request that creates the run is sent.
 */
export async function timeToFirstNode(api: RunApi, count: number) {
  const times: number[] = [];
  for (let turn = 0; turn < count + WARM_UP; turn++) {
    const thread = await api.thread();
    const sentAt = performance.timeOrigin + performance.now();
    const run = await api.create(thread, { assistant_id: 'stamp', input: {} });
    const { beganAt } = (await api.join(run)) as { beganAt: number };
    if (turn >= WARM_UP) times.push(beganAt - sentAt);
  }
  return summarize(times);
}

/** Runs of one node, all asked for at once, each on a thread of its own, from the first request to the last end. */
export async function runsPerSecond(api: RunApi, count: number) {
  const threads = await Promise.all(Array.from({ length: count }, () => api.thread()));
  const began = performance.now();
  await Promise.all(
    threads.map(async (thread) => api.join(await api.create(thread, { assistant_id: 'stamp', input: {} }))),
  );
  const seconds = (performance.now() - began) / 1_000;
  return { runs: count, seconds: rounded(seconds), perSecond: rounded(count / seconds) };
}

/** Streams that are read at the same time; each event carries its number. */
export async function concurrentStreams(api: RunApi, streams: number, events: number) {
  const began = performance.now();
  const wrong = await Promise.all(
    Array.from({ length: streams }, async () => {
      const numbers = await api.customNumbers({ assistant_id: 'count', input: { events } });
      return numbers.length === events && numbers.every((number, index) => number === index) ? 0 : 1;
    }),
  );
  const seconds = rounded((performance.now() - began) / 1_000);
  return { streams, events, seconds, wrong: wrong.reduce<number>((sum, each) => sum + each, 0) };
}

/** What the server's process takes when so many runs wait on a timer, above what it took when nothing had run yet. */
export async function waitingRuns(
  api: RunApi,
  count: number,
  memory: () => number | undefined,
  idle: number | undefined,
) {
  const runs: Awaited<ReturnType<RunApi['create']>>[] = [];
  for (let made = 0; made < count; made += 50) {
    const batch = Array.from({ length: Math.min(50, count - made) }, async () =>
      api.create(await api.thread(), { assistant_id: 'wait', input: { ms: 600_000 } }),
    );
    runs.push(...(await Promise.all(batch)));
  }
  await api.untilAll(runs, 'running');
  const after = memory();
  for (let done = 0; done < runs.length; done += 50) {
    await Promise.all(runs.slice(done, done + 50).map((run) => api.cancel(run)));
  }
  const mib = idle === undefined || after === undefined ? undefined : rounded((after - idle) / 1_048_576);
  return { runs: count, mib };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
