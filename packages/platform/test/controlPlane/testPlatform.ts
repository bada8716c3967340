import { randomUUID } from 'node:crypto';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Hono } from 'hono';
import type { Kysely } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';

import { createAccess } from '../../src/access/access.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from '../../src/controlPlane/controlPlane.ts';
import { isSettled, type RevisionStatus } from '../../src/controlPlane/revisionStates.ts';
import type { BuildResult } from '../../src/builder/buildRevision.ts';
import type { BuildRevision, StartAgent } from '../../src/controlPlane/dependencies.ts';
import { createLogger } from '../../src/http/logger.ts';
import { problemHandler, unservedHandler } from '../../src/http/problem.ts';
import { createContainers } from '../../src/runtime/docker/containers.ts';
import type { Database } from '../../src/store/database.ts';
import { loadSealing } from '../../src/store/keyFiles.ts';
import type { Schema } from '../../src/store/schema.ts';
import { RotatingSealing } from '../../src/store/sealing.ts';
import { openTestDatabase } from '../testDatabase.ts';
import { FakeAgent } from './fakeAgent.ts';
import { CONTROL_PLANE } from '../openapi/documented.ts';
import { CREATES } from '../../../contract/test/controlPlane/requests.ts';

export const API_KEY = 'test-key';

/** All fields of any answer. A test that reads a missing one fails. */
export interface AnswerBody {
  id: string;
  name: string;
  status: RevisionStatus;
  status_message: string | null;
  latest_revision_id: string;
  active_revision_id: string | null;
  source_config: Record<string, unknown>;
  source_revision_config: Record<string, unknown>;
  secrets: unknown[];
  resources: AnswerBody[];
  offset: number;
  upload_url: string;
  key: string;
  object_path: string;
  logs: { message: string }[];
  next_offset: string | null;
  detail: unknown;
}

/** A parsed answer. */
export interface Answer {
  readonly status: number;
  readonly json: AnswerBody;
  readonly headers: Headers;
}

/** A control plane on a real database, with simulated builds and agents. */
export class TestPlatform {
  home!: string;
  database!: Database;
  readonly agents: FakeAgent[] = [];
  /** The revision to which the gateway sends a deployment's requests. */
  readonly serving = new Map<string, string>();
  readonly builds: Parameters<BuildRevision>[0][] = [];
  readonly logged: string[] = [];
  controlPlane!: ControlPlane;
  #generation = 0;
  app!: Hono;

  /** Performs the next builds and starts; replaced by tests. Both are counted. */
  onBuild!: (build: Parameters<BuildRevision>[0]) => Promise<BuildResult>;
  onStart!: (start: Parameters<StartAgent>[0]) => Promise<void>;

  /** One for all tests of a file. Use it only while they run; it is closed after them. */
  static use(options: Partial<ControlPlaneOptions> = {}): TestPlatform {
    const platform = new TestPlatform();
    beforeAll(() => platform.#open(options));
    afterEach(() => platform.playAsUsual());
    afterAll(() => platform.close());
    return platform;
  }

  static async open(options: Partial<ControlPlaneOptions> = {}): Promise<TestPlatform> {
    const platform = new TestPlatform();
    await platform.#open(options);
    return platform;
  }

  async #open(options: Partial<ControlPlaneOptions>): Promise<void> {
    this.home = await mkdtemp(join(tmpdir(), 'slipway-control-plane-'));
    this.database = await openTestDatabase(this.home);
    this.playAsUsual();
    await this.start(options);
  }

  /** From now on builds and starts succeed. */
  playAsUsual(): void {
    this.onBuild = async (build) => {
      await mkdir(join(build.workspace, 'src'), { recursive: true });
      await writeFile(join(build.workspace, 'src', 'graph.json'), '{}');
      build.log('built');
      return { ok: true, agentDir: join(build.workspace, 'src'), graphConfigPath: 'graph.json' };
    };
    this.onStart = () => Promise.resolve();
  }

  /**
   * From now on builds or starts end only when they are canceled.
   * @returns begun: resolves when one hangs, which is some time after the revision has the status.
   */
  hangIn(status: 'BUILDING' | 'DEPLOYING'): { readonly begun: Promise<void> } {
    const { open, promise: begun } = gate();
    const untilCanceled = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
      open();
      await aborted(signal);
      throw new Error('called off');
    };
    if (status === 'BUILDING') this.onBuild = untilCanceled;
    else this.onStart = untilCanceled;
    return { begun };
  }

  get kysely(): Kysely<Schema> {
    return this.database.kysely;
  }

  /**
   * Starts a control plane on the same home and database, as after `kill -9`: an earlier one has no effect any more.
   */
  async start(options: Partial<ControlPlaneOptions> = {}): Promise<void> {
    const generation = ++this.#generation;
    const unlessKilled = async <T>(work: () => Promise<T>): Promise<T> => {
      const never = new Promise<never>(() => undefined);
      if (this.#generation !== generation) return never;
      const result = await work();
      return this.#generation === generation ? result : never;
    };
    const log = createLogger({
      level: 'debug',
      destination: { write: (line) => void this.logged.push(line) },
    });
    this.controlPlane = createControlPlane({
      home: this.home,
      kysely: this.kysely,
      sealing: new RotatingSealing(Buffer.alloc(32, 7)),
      access: createAccess({ operatorKey: API_KEY, kysely: this.kysely, log }),
      log,
      gateway: {
        register: () => undefined,
        switchTo: (deploymentId, agent) => {
          this.serving.set(deploymentId, agent.revisionId);
          return Promise.resolve();
        },
        remove: (deploymentId) => {
          this.serving.delete(deploymentId);
          return Promise.resolve();
        },
      },
      buildRevision: (build) =>
        unlessKilled(() => {
          this.builds.push(build);
          return this.onBuild(build);
        }),
      startAgent: (start) =>
        unlessKilled(async () => {
          await this.onStart(start);
          const agent = new FakeAgent(start.env);
          this.agents.push(agent);
          return agent;
        }),
      // A machine without a container engine. Tests of images set their own.
      containers: createContainers({ command: join(this.home, 'no-docker'), platform: 'test' }),
      agentStorage: { remove: () => Promise.resolve() },
      agentEnvironment: ({ deploymentId, revisionId, name }) =>
        Promise.resolve({
          SLIPWAY_AGENT_DEPLOYMENT_ID: deploymentId,
          SLIPWAY_AGENT_REVISION_ID: revisionId,
          SLIPWAY_AGENT_PROJECT_NAME: name,
        }),
      drainTimeoutMs: 50,
      ...options,
    });
    this.app = this.controlPlane.app;
    this.app.onError(problemHandler(log));
    this.app.notFound(unservedHandler(this.app));
    await this.controlPlane.start();
  }

  /** Rotates the master key, and starts with the new one. */
  async rotateAndRestart(): Promise<void> {
    expect((await this.call('POST', '/v1/secrets/rotation')).status).toBe(200);
    await this.start({ sealing: await loadSealing(this.home, {}) });
  }

  async close(): Promise<void> {
    await this.controlPlane.close();
    await this.database.close();
    await rm(this.home, { recursive: true, force: true });
  }

  /** Sends a request with the platform's own key. A body that is no string is sent as JSON. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await this.app.request(path, {
      method,
      headers: { 'x-api-key': API_KEY, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    // Every answer must match the OpenAPI document.
    const type = response.headers.get('content-type') ?? '';
    CONTROL_PLANE.expectAnswer(method, path, { status: response.status, type, text });
    return {
      status: response.status,
      json: (text === '' ? {} : JSON.parse(text)) as AnswerBody,
      headers: response.headers,
    };
  }

  /** Requests a new deployment. */
  post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', '/v2/deployments', body, headers);
  }

  patch(deploymentId: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('PATCH', `/v2/deployments/${deploymentId}`, body, headers);
  }

  /** Creates a deployment of source `internal_source`. Returns its id. */
  async create(name: string, more: Record<string, unknown> = {}): Promise<string> {
    const { status, json } = await this.post(createBody({ name, ...more }));
    expect(status, JSON.stringify(json)).toBe(201);
    return json.id;
  }

  /** Creates an integration (`/v1/integrations/github/install`), a listener or a key. Returns its id. */
  async register(path: string, body: object): Promise<string> {
    const { status, json } = await this.call('POST', path, body);
    expect(status, JSON.stringify(json)).toBe(201);
    return json.id;
  }

  /** Uploads content. Returns its object path. */
  async upload(deploymentId: string, content = 'tarball'): Promise<string> {
    const { json } = await this.call('POST', `/deployments/${deploymentId}/upload-url`);
    const url = new URL(json.upload_url);
    const response = await this.app.request(url.pathname, { method: 'PUT', body: content });
    expect(response.status, await response.text()).toBe(200);
    return json.object_path;
  }

  /** Creates a deployment with a serving revision. */
  async deployed(
    name: string,
    more: Record<string, unknown> = {},
  ): Promise<{ id: string; revision: string }> {
    const id = await this.create(name, more);
    return { id, revision: await this.release(id, 'DEPLOYED') };
  }

  /** Uploads and patches, and waits until the revision has a status, if given. Returns its id. */
  async release(deploymentId: string, until?: RevisionStatus): Promise<string> {
    const path = await this.upload(deploymentId);
    const { status, json } = await this.patch(deploymentId, {
      source_revision_config: { source_tarball_path: path },
    });
    expect(status, JSON.stringify(json)).toBe(200);
    if (until !== undefined) await this.reaches(deploymentId, json.latest_revision_id, until);
    return json.latest_revision_id;
  }

  async redeploy(deploymentId: string, revisionId: string): Promise<Answer> {
    return this.call('POST', `/v2/deployments/${deploymentId}/revisions/${revisionId}/redeploy`);
  }

  async revision(deploymentId: string, revisionId: string): Promise<AnswerBody> {
    return (await this.call('GET', `/v2/deployments/${deploymentId}/revisions/${revisionId}`)).json;
  }

  async status(deploymentId: string, revisionId: string): Promise<RevisionStatus> {
    return (await this.revision(deploymentId, revisionId)).status;
  }

  async reaches(deploymentId: string, revisionId: string, status: RevisionStatus): Promise<void> {
    await vi.waitFor(async () => expect(await this.status(deploymentId, revisionId)).toBe(status), {
      timeout: 30_000,
      interval: 25,
    });
  }

  /** Waits until a revision is the active one. */
  async serves(deploymentId: string, revisionId: string): Promise<void> {
    const active = async () => (await this.deployment(deploymentId)).active_revision_id;
    await vi.waitFor(async () => expect(await active()).toBe(revisionId), 10_000);
  }

  /** Waits until a deployment that is deleted is gone. */
  async gone(deploymentId: string): Promise<void> {
    const status = async () => (await this.call('GET', `/v2/deployments/${deploymentId}`)).status;
    await vi.waitFor(async () => expect(await status()).toBe(404), { timeout: 30_000 });
  }

  /** Waits until a revision has ended with any status. */
  async settles(deploymentId: string, revisionId: string): Promise<void> {
    const settled = async () => isSettled(await this.status(deploymentId, revisionId));
    await vi.waitFor(async () => expect(await settled()).toBe(true), { timeout: 30_000, interval: 25 });
  }

  async deployment(id: string): Promise<AnswerBody> {
    return (await this.call('GET', `/v2/deployments/${id}`)).json;
  }

  /** All statuses that a revision has had, in order. */
  async history(revisionId: string): Promise<string[]> {
    const rows = await this.kysely
      .selectFrom('revision_transitions')
      .select('to_status')
      .where('revision_id', '=', revisionId)
      .orderBy('id')
      .execute();
    return rows.map((row) => row.to_status);
  }

  agentOf(revisionId: string): FakeAgent {
    const agent = this.agents.findLast((each) => each.revisionId === revisionId);
    if (agent === undefined) throw new Error(`No agent of revision ${revisionId} was started.`);
    return agent;
  }
}

/** A request to create a deployment of source `internal_source`. */
export function createBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    ...CREATES.internal_source,
    name: `d-${randomUUID()}`,
    ...more,
  };
}

/** Resolves when the signal is aborted, or at once if it already is. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (open = resolve));
  return { promise, open };
}
