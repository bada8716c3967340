// How a Run API carries runs: time to the first node, throughput, memory of waiting runs, concurrent streams.
// bench/README.md says what is measured and what is not.
//
//   npx tsx bench/runs.ts                                        # starts an agent server of its own
//   npx tsx bench/runs.ts --url http://127.0.0.1:2024 --pid 4242 # any server of the agent in bench/runsAgent
import { parseArgs } from 'node:util';

import { machine } from './machine.ts';
import { startRunsAgent } from './runsAgentProcess.ts';
import { createRunApi, type RunApi } from './runApi.ts';
import { memoryOf } from './processMemory.ts';
import { summarize, table } from './statistics.ts';

/** The first ones open connections and warm the just-in-time compiler up. */
const WARM_UP = 5;

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    pid: { type: 'string' },
    'first-node': { type: 'string', default: '50' },
    throughput: { type: 'string', default: '200' },
    waiting: { type: 'string', default: '1000' },
    streams: { type: 'string', default: '200' },
    events: { type: 'string', default: '50' },
  },
});

const own = options.url === undefined ? await startRunsAgent() : undefined;
const url = options.url ?? own?.url ?? '';
const pid = options.pid === undefined ? own?.pid : Number(options.pid);
try {
  const api = createRunApi(url);
  const idle = pid === undefined ? undefined : memoryOf(pid);
  const firstNode = await timeToFirstNode(api, Number(options['first-node']));
  const throughput = await runsPerSecond(api, Number(options.throughput));
  const streams = await concurrentStreams(api, Number(options.streams), Number(options.events));
  const waiting = await waitingRuns(api, Number(options.waiting), { pid, idle });
  process.stdout.write(
    `${table([
      ['from create to the first node, median', `${firstNode.medianMs} ms`],
      ['from create to the first node, p95', `${firstNode.p95Ms} ms`],
      ['runs of one node, per second', String(throughput.perSecond)],
      [
        `${waiting.runs} runs that wait, above idle`,
        waiting.mib === undefined ? '(no pid)' : `${waiting.mib} MiB`,
      ],
      [`${streams.streams} streams of ${streams.events} events: lost or out of order`, String(streams.wrong)],
    ])}\n`,
  );
  process.stdout.write(
    `${JSON.stringify({ url: own === undefined ? url : 'own', firstNode, throughput, waiting, streams, machine: machine() })}\n`,
  );
} finally {
  await own?.close();
}

/**
 * The node says when it began, by the clock of this machine. Runs are made one after another on threads of their own,
 * which are there before; what is measured begins before the request that creates the run is sent.
 */
async function timeToFirstNode(api: RunApi, count: number) {
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
async function runsPerSecond(api: RunApi, count: number) {
  const threads = await Promise.all(Array.from({ length: count }, () => api.thread()));
  const began = performance.now();
  await Promise.all(
    threads.map(async (thread) => api.join(await api.create(thread, { assistant_id: 'stamp', input: {} }))),
  );
  const seconds = (performance.now() - began) / 1_000;
  return { runs: count, seconds: rounded(seconds), perSecond: rounded(count / seconds) };
}

/** Streams that are read at the same time; each event carries its number. */
async function concurrentStreams(api: RunApi, streams: number, events: number) {
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
async function waitingRuns(
  api: RunApi,
  count: number,
  server: { pid: number | undefined; idle: number | undefined },
) {
  const runs: Awaited<ReturnType<RunApi['create']>>[] = [];
  for (let made = 0; made < count; made += 50) {
    const batch = Array.from({ length: Math.min(50, count - made) }, async () =>
      api.create(await api.thread(), { assistant_id: 'wait', input: { ms: 600_000 } }),
    );
    runs.push(...(await Promise.all(batch)));
  }
  await api.untilAll(runs, 'running');
  const after = server.pid === undefined ? undefined : memoryOf(server.pid);
  for (let done = 0; done < runs.length; done += 50) {
    await Promise.all(runs.slice(done, done + 50).map((run) => api.cancel(run)));
  }
  const mib =
    server.idle === undefined || after === undefined ? undefined : rounded((after - server.idle) / 1_048_576);
  return { runs: count, mib };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
