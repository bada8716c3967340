import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { createAccess } from '../../src/access/access.ts';
import { serveAssistants } from '../../src/agentServer/http/assistantRoutes.ts';
import { serveRuns } from '../../src/agentServer/http/runRoutes.ts';
import {
  serveThreads,
  serveThreadStates,
  serveThreadStream,
} from '../../src/agentServer/http/threadRoutes.ts';
import { serveItems } from '../../src/agentServer/http/storeRoutes.ts';
import { createControlPlane } from '../../src/controlPlane/controlPlane.ts';
import { createLogger } from '../../src/http/logger.ts';
import { serveOn } from '../../src/http/serve.ts';
import { controlPlaneDocument } from '../../src/openapi/document.ts';
import { openApiRoutes } from '../../src/openapi/openApiRoutes.ts';
import { feedbackRoutes, projectRoutes } from '../../src/tracing/feedbackRoutes.ts';
import { CONTROL_PLANE, type Documented, RUN_API } from './documented.ts';

/** The routes' dependencies. They are not used, because the routes are only listed. */
const nobody = {} as never;

const keysOf = ({ operations }: Documented): string[] =>
  operations.map(({ method, path }) => `${method} ${path}`).sort();

/** The operations of a Hono app, in the document's form. */
function servedBy(app: Hono): string[] {
  const handlers = app.routes.filter(({ method }) => method !== 'ALL');
  const named = handlers.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/gu, '{$1}')}`);
  return [...new Set(named)].sort();
}

describe('the document of the control plane', () => {
  it('has exactly the served routes', () => {
    const app = new Hono();
    app.route('/', feedbackRoutes({ tracing: nobody, readerOf: () => ({ tenantId: '' }) }));
    app.route('/', projectRoutes({ tracing: nobody, guard: nobody, tenantOf: () => '' }));
    const log = createLogger({ level: 'silent' });
    const controlPlane = createControlPlane({
      home: '/nowhere',
      kysely: nobody,
      sealing: nobody,
      access: createAccess({ operatorKey: 'key', kysely: nobody, log }),
      log,
      gateway: nobody,
      buildRevision: nobody,
      startAgent: nobody,
      containers: nobody,
      agentEnvironment: nobody,
      agentStorage: nobody,
    });
    app.route('/', controlPlane.app);
    // `/health` is served by platform.ts itself.
    expect(keysOf(CONTROL_PLANE)).toEqual([...servedBy(app), 'GET /health'].sort());
  });
});

it('declares the three security alternatives of the contract', () => {
  const { security = [], components } = controlPlaneDocument();
  expect(Object.keys(components?.securitySchemes ?? {})).toEqual(['API Key', 'Tenant ID', 'Bearer Auth']);
  expect(new Set(security.flatMap((each) => Object.keys(each))).size).toBe(3);
});

describe('the document of the Run API', () => {
  const own = Object.values(RUN_API_ENDPOINTS)
    .filter(({ service }) => service === 'runApi')
    .map(({ method, path }) => `${method} ${path}`)
    .sort();

  it('has every endpoint of its table', () => {
    expect(keysOf(RUN_API)).toEqual(own);
  });

  it('has exactly the served routes', () => {
    const app = new Hono();
    const serve = serveOn(app);
    serveAssistants(serve, nobody, nobody);
    serveThreads(serve, nobody);
    serveThreadStates(serve, nobody, nobody);
    serveRuns(serve, nobody);
    serveItems(serve, nobody);
    serveThreadStream(serve, nobody);
    // These two are served by agentServer.ts itself.
    expect(own).toEqual([...servedBy(app), 'GET /ok', 'GET /info'].sort());
  });
});

describe.each([
  ['control plane', CONTROL_PLANE],
  ['Run API', RUN_API],
])('every operation of the %s', (_, documented) => {
  it.each(
    documented.operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const),
  )(
    '%s has readable schemas, names its parameters, and has valid examples',
    (__, { method, path, value }) => {
      const pointer = ['paths', path, method.toLowerCase()];
      const named = (value.parameters ?? []).filter((each) => each.in === 'path').map(({ name }) => name);
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/gu)].map(([, name]) => name));
      for (const [type, { example }] of Object.entries(value.requestBody?.content ?? {})) {
        const problems = documented.problems([...pointer, 'requestBody', 'content', type, 'schema'], example);
        if (example !== undefined) expect(problems).toEqual([]);
      }
      for (const [status, { content }] of Object.entries(value.responses)) {
        for (const [type, { example }] of Object.entries(content ?? {})) {
          const schema = [...pointer, 'responses', status, 'content', type, 'schema'];
          const problems = documented.problems(schema, example);
          if (example !== undefined) expect(problems).toEqual([]);
        }
      }
    },
  );
});

it('an undocumented response is detected', () => {
  const answer = (status: number, value: unknown) => () =>
    CONTROL_PLANE.expectAnswer('GET', '/v2/listeners', {
      status,
      type: 'application/json',
      text: JSON.stringify(value),
    });
  expect(answer(200, { resources: [], offset: 0 })).not.toThrow();
  expect(answer(200, { resources: [] })).toThrow('offset');
  expect(answer(204, '')).toThrow('not a documented status');
  expect(answer(422, { detail: 'text' })).toThrow('array');
});

describe('the served document', () => {
  const app = openApiRoutes();

  it.each(['/openapi.json', '/openapi/run-api.json'])('%s is available without a key', async (path) => {
    const response = await app.request(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ openapi: '3.1.1', info: { version: '0.1.0' } });
  });

  it('has a page that loads nothing from other origins, and whose policy forbids it', async () => {
    const response = await app.request('/docs');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/u);
    const page = await response.text();
    const loaded = [...page.matchAll(/(?:src|href)="([^"]+)"/gu)].map(([, url]) => url ?? '');
    expect(loaded).not.toHaveLength(0);
    for (const url of loaded) expect((await app.request(url)).status, url).toBe(200);
    expect(page).not.toMatch(/<script>|style=| on\w+=/u);
  });
});
