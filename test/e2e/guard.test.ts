import { createServer, type Server } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { exactText } from '../../src/domain/scalars.ts';
import { hasPrometheus, Prometheus } from './prometheus.ts';
import { goodAgent, ServingDeployment } from './servingDeployment.ts';
import { eventually, Stack } from './stack.ts';
import { listen } from '../support/listen.ts';

const TOKEN = 'planted-token-of-prometheus-77c1';
const QUERY = 'max(agent_error_rate{app="{deployment}"})';

/** What the agent's own metrics say, as Prometheus scrapes them. */
async function startMetrics(): Promise<{ server: Server; address: string; errors: number }> {
  const metrics = {
    errors: 0.01,
    address: '',
    server: createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
      response.end(`agent_error_rate{app="guarded-1"} ${metrics.errors}\n`);
    }),
  };
  metrics.address = new URL(await listen(metrics.server)).host;
  return metrics;
}

describe.skipIf(!hasPrometheus)('a guard that asks a real Prometheus (skipped where it is missing)', () => {
  let stack: Stack;
  let prometheus: Prometheus;
  let metrics: Awaited<ReturnType<typeof startMetrics>>;
  let on: ServingDeployment;
  let good: string | null;

  const status = async (): Promise<string> => (await on.project.ran('status', 'staging')).text;
  const statusShows = (text: string | RegExp): Promise<string> =>
    eventually(async () => {
      const shown = await status();
      expect(shown).toMatch(text);
      return shown;
    });

  beforeAll(async () => {
    stack = await Stack.start({}, { env: { PROMETHEUS_TOKEN: TOKEN } });
    metrics = await startMetrics();
    prometheus = await Prometheus.start(stack.folder, { agent: metrics.address });
    [on] = (await ServingDeployment.several(stack, 'guarded', 1, {
      target: { guard: { for: '10m', every: '1s' } },
      metrics: {
        error_rate: {
          prometheus: { url: prometheus.url, query: QUERY, token: { from: 'env:PROMETHEUS_TOKEN' } },
          max: 0.05,
          risesBy: '500%',
        },
        helpful: { feedback: { key: 'helpful', atLeast: 1 }, min: 0.5 },
      },
    })) as [ServingDeployment];
    await prometheus.value('agent_error_rate');
    good = await on.active();
  });

  afterAll(async () => {
    await prometheus.stop();
    metrics.server.close();
    await stack.stop();
  });

  it('shows until when a revision is guarded, and what was measured last', async () => {
    await on.project.use(goodAgent(1));
    const { code, text } = await on.project.ran('release', 'staging');
    expect(code, text).toBe(0);
    await statusShows(/guard\s+release-2 is guarded until/);
    await statusShows(/error_rate 0\.01.*, helpful has no data: 0 of 1 scores/);
    expect((await on.project.ran('show', 'release-1')).text).toContain('the guard ended early');
    expect((await on.project.ran('show', 'release-2')).text).toMatch(/guard\s+until .*error_rate 0\.01/);
  });

  it('reads the scores of the tracing project of its deployment', async () => {
    const { source_config: config } = (await on.seen.deployment()) as unknown as {
      source_config: { custom_url: string };
    };
    const answer = await fetch(`${config.custom_url}/runs/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': stack.apiKey },
      body: JSON.stringify({
        assistant_id: 'greeter',
        input: { messages: [{ role: 'user', content: 'hello' }] },
        stream_mode: ['values'],
        feedback_keys: ['helpful'],
      }),
    });
    const link = /"helpful":\s*"(?<link>[^"]+)"/.exec(await answer.text())?.groups?.['link'] ?? '';
    const told = await fetch(link, { method: 'POST', body: JSON.stringify({ score: 1 }) });
    expect(told.status).toBe(200);
    await statusShows(/helpful 1\b/);
  });

  it('goes on with the same end after the worker was killed, and rolls back once the metric is worse', async () => {
    const until = /guarded until (?<until>\S+ \S+)/.exec(await status())?.groups?.['until'];
    await stack.worker.kill();
    metrics.errors = 0.12;
    await prometheus.value('agent_error_rate', (value) => value === 0.12);
    await stack.startWorker();
    const { state } = await eventually(async () => {
      const view = await on.seen.target();
      if (view.running !== null || view.state.hold === null) throw new Error('no rollback has ended');
      return view;
    });
    expect(exactText(state.guard?.until ?? '')).toBe(until);
    expect(state.guard?.ended).toMatchObject({
      verdict: 'worse',
      breach: { metric: 'error_rate', value: 0.12, limit: 0.05, kind: 'above_max' },
    });
    expect(state.history.at(-1)).toMatchObject({
      kind: 'rollback',
      outcome: 'rolled_back',
      requestedBy: { who: 'guard', reason: 'error_rate 0.12 > 0.05' },
    });
    expect(state.hold?.by).toMatchObject({ who: 'guard' });
    expect(await on.active()).not.toBeNull();
    const copied = state.known.find(({ revisionId }) => revisionId === state.activeRevisionId);
    expect([copied?.revisionId, copied?.copyOf]).toContain(good);
    const shown = (await on.project.ran('show', 'release-2')).text;
    expect(shown).toContain('the guard asked for a rollback, error_rate 0.12 > 0.05');
    await statusShows('error_rate 0.12 > 0.05');
  });

  it('leaves no rule broken, and its token nowhere', async () => {
    expect(await stack.audit()).toEqual([]);
    const client = await stack.client();
    for await (const { workflowId, runId } of client.workflow.list()) {
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      expect(textOf(history)).not.toContain(TOKEN);
    }
    const { stdout, stderr } = stack.worker;
    expect(stdout + stderr).not.toContain(TOKEN);
    expect(await status()).not.toContain(TOKEN);
  });
});

/** Everything in a history as text, with its decoded payloads. */
function textOf(history: object): string {
  return JSON.stringify(history, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    const raw = this[key];
    return raw instanceof Uint8Array ? Buffer.from(raw).toString('utf8') : value;
  });
}
