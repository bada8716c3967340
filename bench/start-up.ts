// How long the command takes to start, against Node itself. bench/README.md says what is measured and what is not.
//
//   npm run build                                      the command runs from dist/
//   npm run bench -- start-up [--count 20]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { type Engine, startTemporal } from './engine.ts';
import { numbersOf, sayResult, summarize, type Summary, table } from './statistics.ts';

const SLIPWAY = fileURLToPath(new URL('../bin/slipway.js', import.meta.url));

/** What is started, and how many times as long as Node itself it may take. */
const STARTED = {
  'node -e 0': { args: ['-e', '0'], aim: null },
  'slipway --help': { args: [SLIPWAY, '--help'], aim: 3 },
  'slipway status': { args: [SLIPWAY, 'status'], aim: 8 },
} as const;
type Started = keyof typeof STARTED;
const NAMES = Object.keys(STARTED) as Started[];

const { count } = numbersOf({ count: 20 });

const engine = await startTemporal((line) => process.stderr.write(`${line}\n`));
try {
  report(await measure(engine));
} finally {
  await engine.close();
}

/** Starts each in turn, so that a machine that gets busy is busy for all of them. The first round does not count. */
async function measure({ temporal, folder }: Engine): Promise<ReadonlyMap<Started, readonly number[]>> {
  const target = { controlPlane: 'http://127.0.0.1:1', apiKey: { from: 'env:NONE' }, deployment: 'none' };
  await writeFile(join(folder, 'slipway.yaml'), stringify({ targets: { staging: target } }));
  const env = { ...process.env, TEMPORAL_ADDRESS: temporal.settings.address, SLIPWAY_HOME: folder };
  const times = new Map<Started, number[]>(NAMES.map((name) => [name, []]));
  for (let round = 0; round <= count; round++) {
    for (const name of NAMES) {
      const tookMs = await timeOf(STARTED[name].args, folder, env);
      if (round > 0) times.get(name)?.push(tookMs);
    }
  }
  return times;
}

/** From the start of a process to its end, in milliseconds. */
async function timeOf(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${String(code)}: npm run build first`);
  return performance.now() - startedAt;
}

function report(times: ReadonlyMap<Started, readonly number[]>): void {
  const summaries = new Map<Started, Summary>([...times].map(([name, series]) => [name, summarize(series)]));
  const nodeMs = summaries.get('node -e 0')?.medianMs ?? NaN;
  const results = NAMES.map((name) => {
    const summary = summaries.get(name) ?? summarize([]);
    const ratio = Math.round((10 * summary.medianMs) / nodeMs) / 10;
    const { aim } = STARTED[name];
    return { name, summary, ratio, aim, within: aim === null || ratio <= aim };
  });
  const rows = results.map(({ name, summary, ratio, aim }) => [
    name,
    `${summary.medianMs} ms`,
    `${summary.p95Ms} ms`,
    `${ratio} ×`,
    aim === null ? '' : `at most ${aim} ×`,
  ]);
  process.stdout.write(`${table([['', 'median', 'p95', 'of Node', 'aim'], ...rows])}\n`);
  sayResult('start-up', { results });
}
