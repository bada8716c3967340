// How long the command takes to start and to release, compared with Node itself. bench/README.md says what is measured
// and what is not.
//
//   npm run build                                      the command runs from dist/
//   npm run bench -- start-up [--count 20] [--beside OTHER/bin/slipway.js]
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';
import { stringify } from 'yaml';

import { type Engine, startEngine } from './engine.ts';
import { KEY_VARIABLE } from './release.ts';
import { RIGHT_ANSWER, type StandIn, startStandIn } from './standIn.ts';
import { say, sayResult, summarize, type Summary, table } from './statistics.ts';

const SLIPWAY = fileURLToPath(new URL('../bin/slipway.js', import.meta.url));

const { values } = parseArgs({
  options: { count: { type: 'string', default: '20' }, beside: { type: 'string' } },
});
const count = Number(values.count);
process.env[KEY_VARIABLE] = 'any';

/** A started program, and its allowed time as a multiple of Node's own. */
interface Started {
  readonly name: string;
  readonly args: readonly string[];
  readonly aim: number | null;
}

const controlPlane = await startStandIn();
const engine = await startEngine((line) => process.stderr.write(`${line}\n`));
try {
  report(await measure(engine, controlPlane));
} finally {
  await engine.close();
  await controlPlane.close();
}

/** Alternates the programs, so that the machine's load affects all alike. The first round does not count. */
async function measure(
  { temporal, folder }: Engine,
  standIn: StandIn,
): Promise<ReadonlyMap<Started, readonly number[]>> {
  const { url } = standIn;
  const { id, name } = standIn.deploy('greeter', 'answers rightly');
  const target = {
    controlPlane: url,
    apiKey: { from: `env:${KEY_VARIABLE}` },
    deployment: name,
    deploymentId: id,
  };
  const checks = [
    { name: 'greets', assistant: 'agent', input: { messages: [] }, expect: { contains: RIGHT_ANSWER } },
  ];
  await mkdir(join(folder, 'source'));
  await writeFile(
    join(folder, 'slipway.yaml'),
    stringify({ targets: { staging: target }, artifact: { path: 'source' }, checks }),
  );
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: temporal.settings.address,
    SLIPWAY_TASK_QUEUE: temporal.settings.taskQueue,
    SLIPWAY_HOME: folder,
  };
  const commands = (program: string, label: string): readonly Started[] => [
    { name: `${label} --help`, args: [program, '--help'], aim: 3 },
    { name: `${label} status`, args: [program, 'status'], aim: 8 },
    { name: `${label} release`, args: [program, 'release'], aim: null },
  ];
  const all: readonly Started[] = [
    { name: 'node -e 0', args: ['-e', '0'], aim: null },
    { name: 'bare script', args: [await bareScript(folder, url, id)], aim: null },
    ...commands(SLIPWAY, 'slipway'),
    ...(values.beside === undefined ? [] : commands(values.beside, 'the other')),
  ];
  const times = new Map<Started, number[]>(all.map((started) => [started, []]));
  for (let round = 0; round <= count; round++) {
    // So that no program gains by its place.
    for (const started of round % 2 === 0 ? all : all.toReversed()) {
      // A new artifact: releasing the serving one would do nothing.
      await writeFile(join(folder, 'source/graph.json'), JSON.stringify({ made: randomUUID() }));
      const tookMs = await timeOf(started.args, folder, env);
      if (round > 0) times.get(started)?.push(tookMs);
    }
  }
  return times;
}

/** A one-file program that makes the calls of a release one after another. */
async function bareScript(folder: string, url: string, deploymentId: string): Promise<string> {
  const outfile = join(folder, 'bare.cjs');
  const contents = `import { awaitDeployed, check, confirm, find, list, patch, upload } from './peers/calls.ts';
    const order = ${JSON.stringify({ id: 'bare', url, name: 'greeter', deploymentId, goodRevisionId: '' })};
    void (async () => {
      await find(order);
      await check(order);
      const revisionId = await patch(order, await upload(order));
      await awaitDeployed(order, revisionId);
      await confirm(order, revisionId);
      await check(order);
      await list(order);
      process.exit(0);
    })();`;
  const resolveDir = fileURLToPath(new URL('.', import.meta.url));
  await build({
    stdin: { contents, resolveDir },
    bundle: true,
    platform: 'node',
    outfile,
    logLevel: 'error',
  });
  return outfile;
}

/** From the start of a process to its end, in milliseconds. */
async function timeOf(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${String(code)}: npm run build first`);
  return performance.now() - startedAt;
}

function report(times: ReadonlyMap<Started, readonly number[]>): void {
  const summaries = new Map<Started, Summary>([...times].map(([name, series]) => [name, summarize(series)]));
  const nodeMs = [...summaries.values()][0]?.medianMs ?? NaN;
  const results = [...summaries].map(([{ name, aim }, summary]) => {
    const ratio = Math.round((10 * summary.medianMs) / nodeMs) / 10;
    return { name, summary, ratio, aim, within: aim === null || ratio <= aim };
  });
  const rows = results.map(({ name, summary, ratio, aim }) => [
    name,
    `${summary.medianMs} ms`,
    `${summary.p95Ms} ms`,
    `${ratio} ×`,
    aim === null ? '' : `at most ${aim} ×`,
  ]);
  say(table([['', 'median', 'p95', 'of Node', 'aim'], ...rows]));
  sayResult('start-up', { results });
}
