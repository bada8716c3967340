// 20 deployments that must be built at the same time: how many builds run in parallel, what they cost, and the
// platform's response times meanwhile. bench/README.md says what is measured and what is not.
//
//   npm run bench -- builds [--builds 20] [--seconds 3]
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { numbersOf, say, sayResult, summarize, table } from './statistics.ts';
import {
  type BenchedDeployment,
  deploySource,
  newDeployment,
  startPlatformUnderLoad,
} from './platformUnderLoad.ts';

const AIM_MS = 100;
/** The pause between two requests to the platform, in milliseconds. */
const PAUSE_MS = 20;
const PAGE_BYTES = 4_096;

const { builds, seconds } = numbersOf({ builds: 20, seconds: 3 });
/** Uses a CPU and 200 MB for a while, then fails, so that no agents start during the measurement. */
const BUSY = `node -e "const held = Buffer.alloc(2e8, 1); const end = Date.now() + ${seconds * 1_000}; while (Date.now() < end) held[0]++; process.exit(3)"`;

/** The revisions seen as ended. */
const over = new Set<string>();

const platform = await startPlatformUnderLoad();
try {
  say(`making ${builds} deployments`);
  const ids = await Promise.all(
    Array.from({ length: builds }, async (_, number) => {
      const body = newDeployment(`build-${number}`, { install_command: BUSY });
      const { answer } = await platform.call('POST', '/v2/deployments', body);
      return (answer as BenchedDeployment).id;
    }),
  );
  const idle = await readings((seen) => Promise.resolve(seen.length < 100), ids);
  say(`building all of them, each for ${seconds} s of a processor`);
  const began = performance.now();
  const revisions = await Promise.all(
    ids.map(async (id) => [id, await deploySource(platform, id, 'export const graph = {};')] as const),
  );
  const taken = { processes: 0, bytes: 0 };
  const busy = await readings(async () => {
    const now = await takenByBuilds();
    taken.processes = Math.max(taken.processes, now.processes);
    taken.bytes = Math.max(taken.bytes, now.bytes);
    return !(await areOver(revisions));
  }, ids);
  report(idle, busy, taken, (performance.now() - began) / 1_000);
} finally {
  await platform.close();
}

async function areOver(revisions: readonly (readonly [string, string])[]): Promise<boolean> {
  const [id, revision] = revisions.find((each) => !over.has(each[1])) ?? [];
  if (id === undefined || revision === undefined) return true;
  const { answer } = await platform.call('GET', `/v2/deployments/${id}/revisions/${revision}`);
  if ((answer as { status: string }).status === 'BUILD_FAILED') over.add(revision);
  return false;
}

/** Reads a deployment repeatedly while `goOn` holds; returns the duration of each read. */
async function readings(
  goesOn: (seen: readonly number[]) => Promise<boolean>,
  ids: readonly string[],
): Promise<number[]> {
  const seen: number[] = [];
  while (await goesOn(seen)) {
    const path = seen.length % 10 === 9 ? '' : `/${ids[seen.length % ids.length] ?? ''}`;
    seen.push((await platform.call('GET', `/v2/deployments${path}`)).ms);
    await delay(PAUSE_MS);
  }
  return seen;
}

/** The memory of the processes in a build's working directory. Only on Linux; elsewhere 0. */
async function takenByBuilds(): Promise<{ processes: number; bytes: number }> {
  let [processes, bytes] = [0, 0];
  for (const pid of await readdir('/proc').catch(() => [])) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (!cwd.startsWith(join(platform.home, 'builds'))) continue;
    const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
    const resident = Number(statm.split(' ')[1] ?? 0) * PAGE_BYTES;
    // Excludes the shells of commands, which use almost no memory.
    if (resident > 20e6) processes += 1;
    bytes += resident;
  }
  return { processes, bytes };
}

function report(
  idle: readonly number[],
  busy: readonly number[],
  taken: { processes: number; bytes: number },
  tookSeconds: number,
): void {
  const results = { idle: summarize(idle), building: summarize(busy) };
  const rows = [
    ['GET of deployments', 'count', 'median', 'p99', 'longest'],
    ...Object.entries(results).map(([name, { count, medianMs, p99Ms, maxMs }]) => [
      name,
      String(count),
      ...[medianMs, p99Ms, maxMs].map((ms) => `${ms.toFixed(1)} ms`),
    ]),
  ];
  const within = results.building.p99Ms < AIM_MS;
  const megabytes = Math.round(taken.bytes / 1e6);
  say(
    `\n${table(rows)}\n\n${builds} builds in ${tookSeconds.toFixed(1)} s, at most ${taken.processes} at once, with ${megabytes} MB.`,
  );
  say(`The aim, GET under ${AIM_MS} ms for 99 of 100 meanwhile, is ${within ? '' : 'not '}reached.\n`);
  sayResult('builds', {
    aimMs: AIM_MS,
    within,
    builds,
    tookSeconds,
    atOnce: taken.processes,
    megabytes,
    results,
  });
}
