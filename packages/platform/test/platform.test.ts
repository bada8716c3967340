import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { SECRET_VALUE_MAX_BYTES } from '@slipway/contract/limits';
import { create } from 'tar';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { prepareHome } from '../../../test/support/preparedHome.ts';
import { temporaryFolder, useFolder } from '../../../test/support/temporaryFolder.ts';
import { CREATES } from '../../contract/test/controlPlane/requests.ts';
import { startPlatform } from '../src/platform.ts';

import { startPlatformUnderTest } from './platformUnderTest.ts';

// Starts processes one after another, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const NODE_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

const home = useFolder();

let child: ChildProcess;

let url: string;

let apiKey: string;

beforeAll(async () => {
  await prepareHome(join(home, 'home'));
  await startProcess();
});

afterAll(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

async function startProcess(): Promise<void> {
  ({ child, url, apiKey } = await startPlatformUnderTest(join(home, 'home')));
}

/** A gzipped tarball of a real agent whose graph answers with a greeting. */
async function agentSource(greeting: string, graph = GRAPH): Promise<Buffer> {
  const directory = await mkdtemp(join(home, 'source-'));
  await mkdir(directory, { recursive: true });
  await writeFile(
    join(directory, 'graph.json'),
    JSON.stringify({ graphs: { greeter: './graph.mjs:graph' } }),
  );
  await writeFile(join(directory, 'graph.mjs'), graph.replaceAll('GREETING', greeting));
  return buffer(create({ gzip: true, cwd: directory }, ['graph.json', 'graph.mjs']));
}

const GRAPH = `
import { Annotation, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ name: Annotation(), said: Annotation() });
// Secrets are set when the module is loaded, because models are created there. One has a name that no shell accepts.
const mark = process.env['my-key.x'] === 'a model key' ? process.env.MARK : ' without its key';
export const graph = new StateGraph(State)
  .addNode('greet', (state) => ({ said: 'GREETING ' + state.name + mark }))
  .addEdge('__start__', 'greet')
  .compile();
`;

/** All fields of any answer. A test that reads a missing one fails. */
interface AnswerBody {
  id: string;
  status: string;
  status_message: string | null;
  latest_revision_id: string;
  source_config: { custom_url?: string };
  secrets: unknown[];
  upload_url: string;
  object_path: string;
  upload_headers: Record<string, string>;
  logs: { message: string }[];
  thread_id: string;
  said: string;
}

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: AnswerBody }> {
  const response = await fetch(url + path, {
    method,
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text === '' ? {} : JSON.parse(text)) as AnswerBody };
}

async function release(id: string, source: Buffer): Promise<string> {
  const offer = await call('POST', `/deployments/${id}/upload-url`);
  const put = await fetch(offer.json.upload_url, {
    method: 'PUT',
    body: new Uint8Array(source),
    headers: offer.json.upload_headers,
  });
  expect(put.status).toBe(200);
  const { json } = await call('PATCH', `/v2/deployments/${id}`, {
    source_revision_config: { source_tarball_path: offer.json.object_path },
  });
  return json.latest_revision_id;
}

async function settles(
  id: string,
  revision: string,
): Promise<{ status: string; status_message: string | null }> {
  return vi.waitFor(
    async () => {
      const { json } = await call('GET', `/v2/deployments/${id}/revisions/${revision}`);
      expect(json.status).toMatch(/DEPLOYED|FAILED|SKIPPED|INTERRUPTED/);
      return json;
    },
    { timeout: 90_000, interval: 50 },
  );
}

async function greet(id: string): Promise<string> {
  const { status, json } = await call('POST', `/agents/${id}/runs/wait`, {
    assistant_id: 'greeter',
    input: { name: 'Ada' },
  });
  expect(status, JSON.stringify(json)).toBe(200);
  return json.said;
}

describe('a platform with real agents', () => {
  let id: string;
  let hello: string;

  it('deploys an uploaded source, and its agent answers runs at the stable address', async () => {
    const created = await call('POST', '/v2/deployments', {
      ...CREATES.internal_source,
      name: 'greeter',
      source_config: { install_command: `ln -s '${NODE_MODULES}' node_modules` },
      secrets: [
        { name: 'MARK', value: '!' },
        { name: 'my-key.x', value: 'a model key' },
        { name: 'my-key.y', value: '\n'.repeat(SECRET_VALUE_MAX_BYTES) },
      ],
    });
    expect(created.status, JSON.stringify(created.json)).toBe(201);
    id = created.json.id;
    expect(created.json.source_config.custom_url).toBe(`${url}/agents/${id}`);
    hello = await release(id, await agentSource('Hello'));
    expect(await settles(id, hello)).toMatchObject({ status: 'DEPLOYED' });
    expect(await greet(id)).toBe('Hello Ada!');
  });

  it('lets only keys of the deployment’s tenant run its agent', async () => {
    const keyOf = async (tenant: string): Promise<string> => {
      const made = await fetch(`${url}/v1/api-keys`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, ...(tenant === '' ? {} : { 'x-tenant-id': tenant }) },
        body: JSON.stringify({ name: 'checks', scope: 'read' }),
      });
      return ((await made.json()) as { key: string }).key;
    };
    const run = async (headers: Record<string, string>, path = '/runs/wait'): Promise<number> => {
      const answer = await fetch(`${url}/agents/${id}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ assistant_id: 'greeter', input: { name: 'Ada' } }),
      });
      await answer.body?.cancel();
      return answer.status;
    };
    const own = await keyOf('');
    expect(await run({ 'x-api-key': own })).toBe(200);
    expect(await run({ authorization: `Bearer ${own}` })).toBe(200);
    expect(await run({})).toBe(401);
    expect(await run({ 'x-api-key': 'made up' })).toBe(403);
    expect(await run({ 'x-api-key': await keyOf(randomUUID()) })).toBe(404);
    expect(await run({}, `/api/v1/feedback/tokens/${randomUUID()}`)).toBe(404);
    expect((await fetch(`${url}/agents/${id}/ok`)).status).toBe(200);
    const whole = request({ port: new URL(url).port, path: `${url}/agents/${id}/ok` }).end();
    expect(await once(whole, 'response')).toMatchObject([{ statusCode: 200 }]);
  });

  it('lets a page of another origin send a preflight without a key, and a call with one', async () => {
    const origin = 'https://chat.example.com';
    const asked = await fetch(`${url}/agents/${id}/threads/search`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key',
      },
    });
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'content-type,x-api-key',
    });
    const call = (headers: Record<string, string>) =>
      fetch(`${url}/agents/${id}/threads/search`, {
        method: 'POST',
        headers: { origin, ...headers },
        body: '{}',
      });
    const answered = await call({ 'x-api-key': apiKey });
    expect([answered.status, answered.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    expect(answered.headers.get('access-control-expose-headers')).toContain('Content-Location');
    // The page can also read why it was refused.
    const refused = await call({});
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
  });

  it('switches to a new revision without failing a request, and back again', async () => {
    const over = new AbortController();
    const answers = new Set<string>();
    const client = (async () => {
      while (!over.signal.aborted) {
        answers.add(await greet(id));
        // Leaves the processor to the builds and starts. Switches under load have tests of their own.
        await delay(20);
      }
    })();
    const bye = await release(id, await agentSource('Bye'));
    expect(await settles(id, bye)).toMatchObject({ status: 'DEPLOYED' });
    expect(await greet(id)).toBe('Bye Ada!');
    const redeployed = await call('POST', `/v2/deployments/${id}/revisions/${hello}/redeploy`);
    expect(redeployed.status).toBe(200);
    expect(await settles(id, hello)).toMatchObject({ status: 'DEPLOYED' });
    expect(await greet(id)).toBe('Hello Ada!');
    over.abort();
    await client;
    expect([...answers].sort()).toEqual(['Bye Ada!', 'Hello Ada!']);
  });

  it('keeps serving if a new revision does not start, and keeps its logs', async () => {
    const broken = await release(id, await agentSource('Broken', 'throw new Error("GREETING on purpose");'));
    const { status, status_message } = await settles(id, broken);
    expect(status).toBe('DEPLOY_FAILED');
    expect(status_message).toContain('Broken on purpose');
    expect(await greet(id)).toBe('Hello Ada!');
    const { json } = await call('POST', `/v1/projects/${id}/revisions/${broken}/build_logs`, {
      order: 'asc',
    });
    const lines = json.logs.map((line) => line.message).join('\n');
    expect(lines).toContain('The source is built.');
    expect(lines).toContain('Broken on purpose');
  });

  it('after kill -9 serves the same revision, and has lost nothing', async () => {
    const before = await call('GET', `/v2/deployments/${id}`);
    const thread = await call('POST', `/agents/${id}/threads`, {});
    const half = await release(id, await agentSource('Later'));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await startProcess();
    await vi.waitFor(
      async () => expect((await call('GET', '/health')).json).toEqual({ status: 'ok', database: 'ok' }),
      { timeout: 20_000 },
    );
    const after = await call('GET', `/v2/deployments/${id}`);
    expect(after.json).toMatchObject({ id, secrets: before.json.secrets, latest_revision_id: half });
    // The interrupted revision is continued, and finally serves.
    expect(await settles(id, half)).toMatchObject({ status: 'DEPLOYED' });
    expect(await greet(id)).toBe('Later Ada!');
    expect((await call('GET', `/agents/${id}/threads/${thread.json.thread_id}`)).status).toBe(200);
  });

  it('fails to open a home that another process uses', async () => {
    await expect(startPlatformUnderTest(join(home, 'home'))).rejects.toThrow('SLIPWAY_HOME_IN_USE');
  });

  it('exits 0 on SIGTERM', async () => {
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(0);
  });
});

it('a restarted platform knows its deployments from its first answer on', async () => {
  const folder = await temporaryFolder();
  const home = join(folder, 'home');
  await prepareHome(home);
  const before = await startPlatform({ home, port: 0 });
  const headers = { 'x-api-key': before.apiKey, 'content-type': 'application/json' };
  const created = await fetch(`${before.url}/v2/deployments`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...CREATES.internal_source, name: 'restarted' }),
  });
  const { id } = (await created.json()) as { id: string };
  await before.close();
  // The start waits for the container engine before it restarts any agent.
  const [engine, asked, answers] = ['engine', 'asked', 'answers'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(engine, `#!/bin/sh\ntouch ${asked}\nuntil [ -e ${answers} ]; do sleep 0.05; done\n`);
  await chmod(engine, 0o755);
  const port = Number(new URL(before.url).port);
  const starting = startPlatform({ home, port, isolation: 'container', dockerCommand: engine });
  await vi.waitFor(() => stat(asked), { timeout: 20_000 });
  const answer = await fetch(`${before.url}/agents/${id}/threads`, { method: 'POST', headers, body: '{}' });
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 503,
    body: { detail: `Deployment ID ${id} has no active revision.` },
  });
  await writeFile(answers, '');
  await (await starting).close();
});
