// How long until the rollback starts that an alert asks for: from the alert's request to a hook to the arrival of the
// redeploy request at the control plane. bench/README.md says what is measured and what is not.
//
//   npx tsx --conditions=@slipway/source bench/alert-latency.ts [--count 50]
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { getRequestListener } from '@hono/node-server';

import { listen } from '../src/dashboard/listen.ts';
import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import type { HookAnswer } from '../src/domain/hooks/takeDelivery.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { hookRoutes } from '../src/hooks/hookRoutes.ts';
import { hookQuery } from '../src/messages/hooks.ts';
import { hookWorkflowId, viewHook } from '../src/temporal/client/hooks/hookClient.ts';
import { queryTarget, submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { type Engine, startEngine } from './engine.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { numbersOf, say, sayResult, summarize, table } from './statistics.ts';
import { type StandIn, startStandIn } from './standIn.ts';
import { parseConfig } from '../test/config/parseConfig.ts';

const AIM_MS = 1_000;
/** The first alerts open connections and warm up the JIT compiler. */
const WARM_UP = 2;
const TOKEN = randomUUID();
const HOUR_MS = 3_600_000;

const CONFIG = `
targets:
  production: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:KEY }, deployment: agent }
hooks:
  alerts:
    form: alertmanager
    secret: { from: env:TOKEN }
    on: [{ name: worse, do: rollback, targets: [production], ifYoungerThan: 1h, atMostOnePer: 1h }]
`;

const { count } = numbersOf({ count: 50 });

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startEngine(say);
try {
  const artifact = await putArtifact(engine.folder);
  const latencies: number[] = [];
  for (let turn = 0; turn < WARM_UP + count; turn++)
    latencies.push(await rolledBack(engine, services, artifact));
  const summary = summarize(latencies.slice(WARM_UP));
  const { medianMs, p95Ms, maxMs } = summary;
  const figures = [medianMs, p95Ms, maxMs].map((milliseconds) => `${Math.round(milliseconds)} ms`);
  const rows = [
    ['from the alert to the redeploy request', 'median', 'p95', 'longest'],
    ['with a duplicate and a stale alert beside it', ...figures],
  ];
  const within = p95Ms < AIM_MS;
  say(`\n${table(rows)}\n\nThe aim, under ${AIM_MS} ms for 95 of 100, is ${within ? '' : 'not '}reached.\n`);
  sayResult('alert-latency', { aimMs: AIM_MS, within, summary });
} finally {
  await engine.close();
  await services.close();
}

/** One release, and the alert that rolls it back. @returns the latency, in milliseconds. */
async function rolledBack(
  { temporal }: Engine,
  standIn: StandIn,
  artifact: TarballArtifact,
): Promise<number> {
  const deployment = standIn.deploy(`bench-${randomUUID()}`, 'answers rightly');
  const request = releaseRequest(standIn.url, deployment, artifact);
  const target = temporal.client.workflow.getHandle(targetWorkflowId(request.target));
  await submitRelease(temporal, request);
  while ((await queryTarget(temporal, target.workflowId))?.state.history[0]?.outcome !== 'released')
    await delay(10);
  const listener = await startListener(temporal, target.workflowId);
  try {
    const redeployed = deployment.next('redeploy');
    const alert = { fingerprint: 'worse', startsAt: new Date().toISOString() };
    const stale = { fingerprint: 'stale', startsAt: new Date(Date.now() - HOUR_MS).toISOString() };
    const from = performance.now();
    const sent = [stale, alert, alert].map((each) => listener.send(each));
    const latencyMs = (await redeployed) - from;
    const answers = (await Promise.all(sent)).map(([answer]) => answer?.disposition).sort();
    if (answers.join() !== 'duplicate,taken,taken') throw new Error(`the hook answered ${answers.join()}`);
    await listener.decided();
    return latencyMs;
  } finally {
    await listener.close();
    await target.terminate('measured');
  }
}

/** A hook before one target, on a port of its own. */
async function startListener(temporal: Engine['temporal'], targetId: string) {
  const config = parseConfig(CONFIG, 'slipway.yaml', {}).hooks['alerts'];
  if (config === undefined) throw new Error('no hook');
  const targets = new Map([['production', targetId]]);
  const hook = {
    name: 'alerts',
    workflowId: hookWorkflowId('alerts', [targetId]),
    config,
    targets,
    promotions: new Map<string, string>(),
  };
  const none = (): Promise<never> => Promise.reject(new Error('nothing is released'));
  const source = { kept: none, release: none, promotion: none };
  const routes = hookRoutes({ hooks: [hook], temporal, environment: { TOKEN }, source });
  const answer = getRequestListener(routes.fetch);
  const listening = await listen((request, response) => void answer(request, response), {
    host: '127.0.0.1',
    port: 0,
    option: '--port',
  });
  return {
    async send(alert: { readonly fingerprint: string; readonly startsAt: string }) {
      const labels = { alertname: 'AnswersWorse' };
      const body = JSON.stringify({ version: '4', alerts: [{ ...alert, status: 'firing', labels }] });
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const response = await fetch(`${listening.url}/hooks/alerts`, { method: 'POST', headers, body });
      return ((await response.json()) as { readonly events: readonly HookAnswer[] }).events;
    },
    /** Waits until one alert has acted and the other one not. */
    async decided(): Promise<void> {
      for (;;) {
        const rows = (await viewHook(temporal, hook, hookQuery))?.rows ?? [];
        const states = rows.flatMap(({ decisions }) => decisions.map(({ state }) => state)).sort();
        if (states.join() === 'carried_out,not_met') return;
        if (states.includes('failed')) throw new Error('an alert failed');
        await delay(10);
      }
    },
    async close(): Promise<void> {
      await temporal.client.workflow.getHandle(hook.workflowId).terminate('measured');
      await listening.close();
    },
  };
}
