// Performance of a Run API: time to the first node, throughput, memory of waiting runs, concurrent streams.
// bench/README.md says what is measured and what is not.
//
//   npm run bench -- runs                                                  # an agent server of its own
//   npm run bench -- runs --beside-public                                  # the same, and then the public JS server
//   npm run bench -- runs --url http://127.0.0.1:2024 --pid 4242           # any server of the agent in bench/runsAgent
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { startPublicServer } from './publicServer.ts';
import { createRunApi, type RunApi } from './runApi.ts';
import { memoryOf, memoryOfGroup, startRunsAgent } from './runsAgentProcess.ts';
import { machine, rounded, summarize, table } from './statistics.ts';

/** The first runs open connections and warm up the JIT compiler. */
const WARM_UP = 5;

/**
 * Time until a run's first node starts. The node reports its start by this machine's clock. Runs are created one after
 * another, each on its own existing thread. The time starts before the request that creates the run.
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

/**
 * Throughput of one-node runs, all requested at once, each on its own thread. Measured from the first request to the
 * last end.
 */
async function runsPerSecond(api: RunApi, count: number) {
  const threads = await Promise.all(Array.from({ length: count }, () => api.thread()));
  const began = performance.now();
  await Promise.all(
    threads.map(async (thread) => api.join(await api.create(thread, { assistant_id: 'stamp', input: {} }))),
  );
  const seconds = (performance.now() - began) / 1_000;
  return { runs: count, seconds: rounded(seconds), perSecond: rounded(count / seconds) };
}

/** Concurrent streams; each event has a number. */
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

/** Memory of the server's process while many runs wait on a timer, minus its memory before the first run. */
async function waitingRuns(
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

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    pid: { type: 'string' },
    'beside-public': { type: 'boolean', default: false },
    'first-node': { type: 'string', default: '50' },
    throughput: { type: 'string', default: '200' },
    waiting: { type: 'string', default: '1000' },
    streams: { type: 'string', default: '200' },
    events: { type: 'string', default: '50' },
  },
});
const counts = {
  firstNode: Number(options['first-node']),
  throughput: Number(options.throughput),
  waiting: Number(options.waiting),
  streams: Number(options.streams),
  events: Number(options.events),
};

type Measured = Awaited<ReturnType<typeof shortRuns>> & Awaited<ReturnType<typeof longRuns>>;

const ours = options.url === undefined ? await measureOwn() : await measureAt(options.url);
const theirs = options['beside-public'] ? await measurePublic() : undefined;
process.stdout.write(`${table(rowsOf(ours, theirs))}\n`);
process.stdout.write(`${JSON.stringify({ ours, theirs, counts, machine: machine() })}\n`);

async function measureOwn(): Promise<Measured> {
  const server = await startRunsAgent();
  try {
    const memory = () => memoryOf(server.pid);
    const idle = memory();
    return { ...(await shortRuns(server.url)), ...(await longRuns(server.url, memory, idle)) };
  } finally {
    await server.close();
  }
}

async function measureAt(url: string): Promise<Measured> {
  const memory = () => (options.pid === undefined ? undefined : memoryOf(Number(options.pid)));
  const idle = memory();
  return { ...(await shortRuns(url)), ...(await longRuns(url, memory, idle)) };
}

/**
 * Measures the public server with its default of 10 concurrent runs, and for waiting runs with slots for all of them.
 */
async function measurePublic(): Promise<Measured> {
  const agentDir = fileURLToPath(new URL('runsAgent', import.meta.url));
  const names = ['stamp', 'wait', 'count'];
  const graphs = Object.fromEntries(names.map((name) => [name, `./graphs.mjs:${name}`]));
  const asItComes = await startPublicServer({ agentDir, graphs });
  let short: Awaited<ReturnType<typeof shortRuns>>;
  try {
    short = await shortRuns(asItComes.url);
  } finally {
    await asItComes.close();
  }
  const roomy = await startPublicServer({ agentDir, graphs, jobs: counts.waiting });
  try {
    const memory = () => memoryOfGroup(roomy.group);
    return { ...short, ...(await longRuns(roomy.url, memory, memory())) };
  } finally {
    await roomy.close();
  }
}

async function shortRuns(url: string) {
  const api = createRunApi(url);
  return {
    firstNode: await timeToFirstNode(api, counts.firstNode),
    throughput: await runsPerSecond(api, counts.throughput),
    streams: await concurrentStreams(api, counts.streams, counts.events),
  };
}

async function longRuns(url: string, memory: () => number | undefined, idle: number | undefined) {
  return { waiting: await waitingRuns(createRunApi(url), counts.waiting, memory, idle) };
}

function rowsOf(one: Measured, other: Measured | undefined): string[][] {
  const row = (name: string, of: (measured: Measured) => number | undefined, unit: string) => {
    const [mine, its] = [of(one), other === undefined ? undefined : of(other)];
    const shown = (value: number | undefined) => (value === undefined ? '(no pid)' : `${value}${unit}`);
    if (other === undefined) return [name, shown(mine)];
    const times = mine === undefined || its === undefined ? NaN : Math.round((its / mine) * 100) / 100;
    const ratio = Number.isFinite(times) ? `1 : ${times}` : '';
    return [name, shown(mine), shown(its), ratio];
  };
  const { streams, events } = one.streams;
  return [
    ['', 'this server', ...(other === undefined ? [] : ['public', 'ratio'])],
    row('from create to the first node, median', ({ firstNode }) => firstNode.medianMs, ' ms'),
    row('from create to the first node, p95', ({ firstNode }) => firstNode.p95Ms, ' ms'),
    row('from create to the first node, p99', ({ firstNode }) => firstNode.p99Ms, ' ms'),
    row('runs of one node, per second', ({ throughput }) => throughput.perSecond, ''),
    row(`${one.waiting.runs} runs that wait, above idle`, ({ waiting }) => waiting.mib, ' MiB'),
    row(`${streams} streams of ${events} events, together`, ({ streams: { seconds } }) => seconds, ' s'),
    row('of them with an event lost or out of order', ({ streams: { wrong } }) => wrong, ''),
  ];
}
