// What a hook does with a flood of webhooks: answers by status, rate, memory, and whether each event is kept once.
// bench/README.md says what is measured and what is not.
//
//   npm run build && npx tsx --conditions=@slipway/source bench/webhook-flood.ts [--count 10000] [--connections 500]
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Agent, request } from 'undici';

import { signature } from '../src/clients/notify/webhook.ts';
import type { HookState } from '../src/domain/hooks/hookState.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { hookQuery } from '../src/messages/hooks.ts';
import { hookWorkflowId, viewHook } from '../src/temporal/client/hooks/hookClient.ts';
import { queryTarget, submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { type Engine, startTemporal } from './engine.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { startStandIn } from './standIn.ts';
import { numbersOf, say, sayResult, summarize, table } from './statistics.ts';
import { startWorker } from './workerProcess.ts';

const SLIPWAY = fileURLToPath(new URL('../bin/slipway.js', import.meta.url));
const SECRET = randomUUID();
const HOUR_MS = 3_600_000;

const COUNTS = { do: 'hold', atLeast: { count: 100, within: '1h' }, atMostOnePer: '1h' };
const LOOKS = { do: 'rollback', ifYoungerThan: '1h' };

/** The floods, each to a hook of its own: how long the sender takes, and the rule, which counts or asks the target. */
const FLOODS = {
  'one-minute': { overMs: 60_000, rule: LOOKS },
  'at-once': { overMs: 0, rule: LOOKS },
  'at-once-counted': { overMs: 0, rule: COUNTS },
};

const { count, connections } = numbersOf({ count: 10_000, connections: 500 });

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
const worker = await startWorker(engine, 'worker');
const { deployment, targetId } = await released(engine);
const listener = await startListener(engine);
try {
  const rows = [['', 'sent in', '202', '503', 'median', 'p99', 'all taken after', 'listener', 'worker']];
  const figures: Record<string, object> = {};
  for (const [name, { overMs }] of Object.entries(FLOODS)) {
    const flood = await flooded(name, overMs);
    const { answers, sentMs, doneMs, latency, listenerMib, workerMib } = flood;
    figures[name] = flood;
    rows.push([
      ...[name, seconds(sentMs), String(answers['202'] ?? 0), String(answers['503'] ?? 0)],
      ...(overMs === 0 ? ['', ''] : [`${latency.medianMs} ms`, `${latency.p99Ms} ms`]),
      seconds(doneMs),
      ...[`${listenerMib} MiB`, `${workerMib} MiB`],
    ]);
  }
  say(`\n${table(rows)}\n`);
  sayResult('webhook-flood', { count, connections, floods: figures });
} finally {
  listener.process.kill('SIGKILL');
  worker.kill('SIGKILL');
  await engine.close();
  await services.close();
}

/** Sends the events, and those that were not taken again, as products do. */
async function flooded(name: string, overMs: number) {
  const agent = new Agent({ connections, pipelining: 1, headersTimeout: 60_000 });
  const ids = Array.from({ length: count }, (_, number) => `${name}-${number}`);
  const answers: Record<string, number> = {};
  const tookMs: number[] = [];
  const post = async (id: string): Promise<boolean> => {
    const from = performance.now();
    const status = await postEvent(agent, name, id);
    tookMs.push(performance.now() - from);
    answers[status] = (answers[status] ?? 0) + 1;
    if (status !== 202 && status !== 503) throw new Error(`the listener answered ${status}`);
    return status === 202;
  };
  const from = performance.now();
  const first = await Promise.all(
    ids.map(async (id, index) => {
      if (overMs > 0) await delay((overMs * index) / count);
      return post(id);
    }),
  );
  const sentMs = performance.now() - from;
  const ofFirst = { ...answers };
  const latency = summarize(tookMs);
  let left = ids.filter((_, index) => first[index] === false);
  while (left.length > 0) {
    await delay(2_000);
    const again = await Promise.all(left.map(post));
    left = left.filter((_, index) => again[index] === false);
  }
  const doneMs = performance.now() - from;
  await agent.close();
  const kept = await keptOnce(name);
  return {
    ...{ answers: ofFirst, allAnswers: answers, sentMs, doneMs, latency, kept },
    ...{ listenerMib: peakMib(listener.process), workerMib: peakMib(worker) },
  };
}

async function postEvent(dispatcher: Agent, hook: string, id: string): Promise<number> {
  // It began before the release, so that it changes nothing.
  const body = JSON.stringify({ id, at: new Date(Date.now() - HOUR_MS).toISOString() });
  const headers = { 'slipway-signature': signature(body, SECRET, Math.floor(Date.now() / 1_000)) };
  const url = `${listener.url}/hooks/${hook}`;
  const { statusCode, body: answer } = await request(url, { dispatcher, method: 'POST', headers, body });
  await answer.dump();
  return statusCode;
}

/** How many events were kept with each decision. @throws Error if one is missing or twice. */
async function keptOnce(name: string): Promise<Record<string, number>> {
  const hook = { workflowId: hookWorkflowId(name, [targetId]) };
  let state: HookState | undefined;
  do state = await viewHook(engine.temporal, hook, hookQuery);
  while (state?.rows.every(({ decisions }) => decisions[0]?.state !== 'waiting') !== true);
  const listed = state.rows.map(({ id, decisions }) => [id, decisions[0]?.state ?? ''] as const);
  const earlier = state.past.map((line) => line.split(' ') as [string, string]);
  const all = [...earlier, ...listed];
  const kept = new Set(all.map(([id]) => id)).size;
  if (kept !== all.length || kept !== Math.min(count, 10_000 + listed.length))
    throw new Error(`${kept} of ${count} events are kept, in ${all.length} places`);
  const counts: Record<string, number> = {};
  for (const [, became] of all) counts[became] = (counts[became] ?? 0) + 1;
  return counts;
}

async function released({ temporal, folder }: Engine) {
  const artifact = await putArtifact(folder);
  const on = services.deploy('flooded', 'answers rightly');
  const asked = releaseRequest(services.url, on, artifact);
  await submitRelease(temporal, asked);
  const workflowId = targetWorkflowId(asked.target);
  while ((await queryTarget(temporal, workflowId))?.state.history[0]?.outcome !== 'released') await delay(20);
  return { deployment: on, targetId: workflowId };
}

/** `slipway hooks`, from the build, in its own process. */
async function startListener({ temporal, folder }: Engine) {
  const { address, namespace, taskQueue } = temporal.settings;
  const project = join(folder, 'project');
  await mkdir(project);
  const target = {
    controlPlane: services.url,
    apiKey: { from: `env:${KEY_VARIABLE}` },
    deployment: deployment.name,
    deploymentId: deployment.id,
  };
  const hooks = Object.fromEntries(
    Object.entries(FLOODS).map(([name, { rule }]) => {
      const on = [{ name: 'rule', targets: ['flooded'], ...rule }];
      return [name, { form: 'generic', secret: { from: 'env:HOOK_SECRET' }, on }];
    }),
  );
  await writeFile(join(project, 'slipway.yaml'), JSON.stringify({ targets: { flooded: target }, hooks }));
  const started = spawn(process.execPath, [SLIPWAY, 'hooks', '--json', '--port', '0'], {
    cwd: project,
    env: {
      ...process.env,
      HOOK_SECRET: SECRET,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      SLIPWAY_TASK_QUEUE: taskQueue,
      SLIPWAY_HOME: join(folder, 'home'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: started.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    started.once('exit', () => reject(new Error('the listener has ended')));
    // Read until the end: a full pipe would stop the listener.
    lines.on('line', (line) => {
      const { event, hooks: address } = JSON.parse(line) as {
        readonly event: string;
        readonly hooks: string;
      };
      if (event === 'ready') resolve(address);
    });
  });
  return { process: started, url };
}

/** The most memory that a process has ever had. */
function peakMib({ pid = 0 }: ChildProcess): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1]) / 1_024);
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
