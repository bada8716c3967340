import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { TestBrowser } from '../dashboard/access/testBrowser.ts';
import { meet, REQUESTS } from './faultProxy.ts';
import { OtlpReceiver } from './otlpReceiver.ts';
import { type Process, slipway } from './processes.ts';
import { Project } from './project.ts';
import { eventually, Stack } from './stack.ts';
import { freePort } from '../support/listen.ts';

/** One secret for each place that can contain or repeat a secret. */
const PLANTED = {
  /** The control plane's key, to which `slipway.yaml` refers. */
  configuration: 'planted-configuration-7d41c0a9',
  /** In the environment of every process, without any reference to it. */
  environment: 'planted-environment-15be7f02',
  /** A secret of the deployment. */
  deployment: 'planted-deployment-c83a66d1',
  /** A secret of the deployment that the control plane repeats in an error. */
  error: 'planted-error-904e2b7f',
  /** A secret of the deployment that the agent repeats in its answer. */
  answer: 'planted-answer-2f6d8e35',
};
const SECRETS = { TEAM_TOKEN: PLANTED.deployment, ERROR_TOKEN: PLANTED.error, ANSWER_TOKEN: PLANTED.answer };

let stack: Stack;
let receiver: OtlpReceiver;
let project: Project;
let dashboard: Process;
let page: string;
const metrics: Record<string, string> = {};

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  for (const name of ['worker', 'platform', 'dashboard']) metrics[name] = `127.0.0.1:${await freePort()}`;
  const shared = {
    ...receiver.env,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${PLANTED.environment}`,
    UNRELATED_TOKEN: PLANTED.environment,
  };
  stack = await Stack.start(
    {
      ...shared,
      SLIPWAY_METRICS_ADDRESS: metrics['platform']!,
      SLIPWAY_PLATFORM_API_KEY: PLANTED.configuration,
    },
    { env: { ...shared, ...SECRETS, SLIPWAY_METRICS_ADDRESS: metrics['worker']! } },
  );
  project = await Project.create(stack, {
    example: { says: `Hello Ada ${PLANTED.answer}` },
    deployment: 'planted',
    target: { secrets: Object.keys(SECRETS).map((name) => ({ name, from: `env:${name}` })) },
  });
  dashboard = slipway(['dashboard', '--port', '0', '--json'], {
    env: { ...stack.env, SLIPWAY_METRICS_ADDRESS: metrics['dashboard']! },
  });
  page = String((await dashboard.ready())['dashboard']);
});

afterAll(async () => {
  await dashboard.stop();
  await stack.stop();
  await receiver.close();
});

/** The places whose planted secrets a text contains. */
function found(text: string): readonly string[] {
  return Object.entries(PLANTED).flatMap(([place, secret]) => {
    const spelled = [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')];
    return spelled.some((spelling) => text.includes(spelling)) ? [place] : [];
  });
}

it('a successful release, a failed one and people’s messages meet every secret', async () => {
  expect((await project.ran('release', 'staging')).code).toBe(0);
  await project.use({ says: `No. ${PLANTED.answer}` });
  const body = JSON.stringify({ detail: `denied for ${PLANTED.error} and ${PLANTED.configuration}` });
  void meet(stack.proxy, REQUESTS.uploadUrl, { kind: 'answer', status: 503, body }, 1);
  const failed = await project.ran('release', 'staging');
  expect(failed.code, failed.text).toBe(2);
  expect(found(failed.text)).toEqual([]);
  // A release that the control plane refuses permanently, with the secrets in its error.
  await project.use({ says: 'Hello Ada, at last' });
  void meet(stack.proxy, REQUESTS.patch, { kind: 'answer', status: 422, body }, 1);
  const refused = await project.ran('release', 'staging');
  expect(refused.code, refused.text).not.toBe(0);
  expect(found(refused.text)).toEqual([]);
});

it('an action on the dashboard is counted, without secrets', async () => {
  const [target] = await targetPaths();
  const browser = new TestBrowser();
  const { text } = await browser.open(`${page}${target}/hold`);
  const fields = [...text.matchAll(/name="(\w+)" value="([^"]*)"/gu)].map(([, name, value]) => [name, value]);
  const held = await browser.submit(`${page}${target}/hold`, {
    ...(Object.fromEntries(fields) as Record<string, string>),
    reason: 'a test',
  });
  expect(held.status, held.text).toBe(200);
  expect(held.text).toContain('is on hold: it rejects releases');
  const counted = 'slipway_dashboard_actions_total{action="hold",outcome="done"} 1';
  expect(await scrape('dashboard')).toContain(counted);
});

it('no page and no stream of changes has a secret', async () => {
  const seen = await readPages();
  expect(seen.size).toBeGreaterThan(10);
  expect([...seen.keys()].some((path) => path.includes('/releases/'))).toBe(true);
  expect([...seen.keys()].filter((path) => path.startsWith('/live/')).length).toBeGreaterThan(1);
  for (const [path, text] of seen) expect(found(text), path).toEqual([]);
});

it('no metric has a secret', async () => {
  for (const name of Object.keys(metrics)) {
    const text = await scrape(name);
    expect(text, name).toContain('slipway_');
    expect(found(text), name).toEqual([]);
  }
});

it('no span has a secret', async () => {
  await eventually(() => {
    for (const service of ['slipway', 'slipway-worker', 'slipway-platform', 'slipway-agent'])
      if (!receiver.spans.some((span) => span.service === service)) throw new Error(`no span of ${service}`);
  });
  expect(found(receiver.raw)).toEqual([]);
});

it('no log has a secret', () => {
  const { worker, platform } = stack;
  for (const [name, each] of Object.entries({ worker, platform, dashboard })) {
    // The platform's ready line contains its key on purpose.
    const printed = each.stdout
      .split('\n')
      .filter((line) => name !== 'platform' || !line.includes('"ready"'));
    expect(found(each.stderr + printed.join('\n')), name).toEqual([]);
  }
  expect(worker.stderr.length).toBeGreaterThan(1_000);
});

it.each([
  ['logs', 'staging', '--release', 'release-1', '--json'],
  ['logs', 'staging', '--release', 'release-2', '--json'],
  ['logs', 'staging', '--json'],
  ['show', 'release-2', 'staging', '--json'],
  ['status', 'staging', '--json'],
  ['history', 'staging', '--json'],
])('slipway %s %s %s prints no secret', async (...args) => {
  const { code, text } = await project.ran(...args);
  expect(code, text).toBe(0);
  expect(text).toContain('"event"');
  expect(found(text)).toEqual([]);
});

it('no history of Temporal, and no record in the artifact store, has a secret', async () => {
  const client = await stack.client();
  let events = 0;
  for await (const { workflowId, runId, memo } of client.workflow.list()) {
    const { events: all = [] } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    events += all?.length ?? 0;
    expect(found(textOf([all, memo])), workflowId).toEqual([]);
  }
  expect(events).toBeGreaterThan(50);
  const home = stack.env['SLIPWAY_HOME']!;
  const files = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const records = files.filter(({ name }) => name.endsWith('.json'));
  expect(records.length).toBeGreaterThan(2);
  for (const { parentPath, name } of records) {
    expect(found(await readFile(join(parentPath, name), 'utf8')), name).toEqual([]);
  }
});

async function scrape(name: string): Promise<string> {
  return (await fetch(`http://${metrics[name]}/metrics`)).text();
}

async function targetPaths(): Promise<readonly string[]> {
  return eventually(async () => {
    const text = await (await fetch(page)).text();
    const paths = [...text.matchAll(/href="(\/targets\/[^"/?#]+)"/gu)].map(([, path]) => path!);
    if (paths.length === 0) throw new Error('no target is shown');
    return paths;
  });
}

/** Every linked page, and the beginning of each event stream, by path. */
async function readPages(): Promise<ReadonlyMap<string, string>> {
  await targetPaths();
  const seen = new Map<string, string>();
  const open = ['/'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path) || seen.size > 300) continue;
    const text = path.startsWith('/live/') ? await firstParts(path) : await (await fetch(page + path)).text();
    seen.set(path, text);
    const links = [...text.matchAll(/(?:href|data-live)=\\?"(\/[^"#\\]*)/gu)].map(([, link]) => link!);
    open.push(
      ...links.map((link) => link.replaceAll('&amp;', '&')).filter((link) => !link.startsWith('/sign')),
    );
  }
  return seen;
}

/** All first parts of a stream. */
async function firstParts(path: string): Promise<string> {
  const { body } = await fetch(page + path);
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (/event: fragments\n.*\n\n/u.test(text)) break;
  }
  return text;
}

/** Everything in a value, with bytes as text. */
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  if (typeof value === 'object' && value !== null) return Object.entries(value).map(textOf).join('\n');
  return String(value);
}
