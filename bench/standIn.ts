import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export type Behavior = 'answers rightly' | 'answers wrongly' | 'never ready' | 'never answers';

/** Moments of a deployment that a benchmark can wait for. */
export type Moment =
  'held' | 'patched' | 'polled' | 'deployed' | 'seen deployed' | 'run began' | 'wrong answer' | 'redeploy';

/** The agent's answer while a good revision serves. */
export const RIGHT_ANSWER = 'hello';

const HOST = '127.0.0.1';
/** How long each answer takes, in milliseconds: the minimum for two services near each other. */
const ANSWER_MS = 2;
const CREATED_AT = '2026-01-01T00:00:00.000Z';

interface Revision {
  readonly id: string;
  status: string;
  readonly tarballPath: string | null;
}

/** Matches the request that identifies a step. */
export type RequestMatch = (method: string, path: string) => boolean;

/** One deployment, with a good revision that Slipway did not create. */
export class StandInDeployment {
  readonly id = randomUUID();
  readonly name: string;
  readonly good: string;
  /** Whether it exists. If not, it must be created first. */
  exists: boolean;
  readonly #behavior: Behavior;
  /** The time from the PATCH until the revision is `DEPLOYED`, in milliseconds. 0: at once. */
  deploysAfterMs = 0;
  readonly #revisions: Revision[];
  readonly #moments = new EventEmitter();
  #active: string;
  #held: RequestMatch | undefined;

  constructor(name: string, behavior: Behavior, exists: boolean) {
    this.name = name;
    this.exists = exists;
    this.#behavior = behavior;
    this.good = randomUUID();
    this.#revisions = [{ id: this.good, status: 'DEPLOYED', tarballPath: null }];
    this.#active = this.good;
  }

  /** Neither executes nor answers the next such request. Resolves when it has arrived. */
  async hold(matches: RequestMatch): Promise<void> {
    this.#held = matches;
    await this.next('held');
  }

  holds(method: string, path: string): boolean {
    if (this.#held?.(method, path) !== true) return false;
    this.#held = undefined;
    this.happens('held');
    return true;
  }

  /** Resolves with the time of the next such moment, by `performance.now()`. */
  async next(moment: Moment): Promise<number> {
    const [at] = (await once(this.#moments, moment)) as [number];
    return at;
  }

  /** Calls back at each such moment, until the returned function is called. */
  each(moment: Moment, callback: (at: number) => void): () => void {
    this.#moments.on(moment, callback);
    return () => this.#moments.off(moment, callback);
  }

  happens(moment: Moment): void {
    this.#moments.emit(moment, performance.now());
  }

  /** A PATCH: the release's revision. */
  ship(tarballPath: string | null): void {
    const revision = { id: randomUUID(), status: 'DEPLOYING', tarballPath };
    this.#revisions.unshift(revision);
    if (this.#behavior === 'never ready') return;
    if (this.deploysAfterMs === 0) this.#deployed(revision);
    else setTimeout(() => this.#deployed(revision), this.deploysAfterMs).unref();
  }

  /** Makes the newest revision `DEPLOYED` now, if it is pending. */
  comeUp(): void {
    const [newest] = this.#revisions;
    if (newest !== undefined) this.#deployed(newest);
  }

  #deployed(revision: Revision): void {
    if (revision.status !== 'DEPLOYING') return;
    revision.status = 'DEPLOYED';
    this.#active = revision.id;
    this.happens('deployed');
  }

  /** A redeploy: that revision serves again at once; a pending one is dropped. */
  redeploy(revisionId: string): void {
    this.#active = revisionId;
    for (const revision of this.#revisions) {
      if (revision.status === 'DEPLOYING') revision.status = 'INTERRUPTED';
    }
  }

  /** The behavior of a run on the serving revision. */
  get run(): 'right' | 'answers wrongly' | 'never answers' {
    const behavior = this.#active === this.good ? 'answers rightly' : this.#behavior;
    return behavior === 'answers wrongly' || behavior === 'never answers' ? behavior : 'right';
  }

  /** Contract 000, Deployment. */
  view(url: string): object {
    const latest = this.#revisions[0];
    return {
      id: this.id,
      tenant_id: this.id,
      name: this.name,
      source: 'internal_source',
      source_config: { custom_url: `${url}/agents/${this.id}` },
      source_revision_config: { graph_config_path: 'graph.json', source_tarball_path: latest?.tarballPath },
      secrets: [],
      created_at: CREATED_AT,
      updated_at: CREATED_AT,
      status: 'READY',
      latest_revision_id: latest?.id ?? null,
      active_revision_id: this.#active,
    };
  }

  /** Contract 000, "Other resources": the revisions, newest first. */
  revisions(): { id: string; status: string; source_revision_config: object }[] {
    return this.#revisions.map(({ id, status, tarballPath }) => ({
      id,
      status,
      source_revision_config: { source_tarball_path: tarballPath },
    }));
  }
}

/** A control plane and its agents that answer at once, so that the benchmark measures Slipway. */
export interface StandIn {
  readonly url: string;
  /** How many requests of each kind have arrived: the method, and the path without ids. */
  readonly requests: Map<string, number>;
  /** Whether it lists deployments by id, as the public API related to contract 000 does. Default: false. */
  lists: boolean;
  /** @param exists - whether it exists from the start. Default: true. */
  deploy(name: string, behavior: Behavior, exists?: boolean): StandInDeployment;
  close(): Promise<void>;
}

export async function startStandIn(): Promise<StandIn> {
  const deployments = new Map<string, StandInDeployment>();
  const requests = new Map<string, number>();
  let url = '';
  const server = createServer((request, response) => {
    const kind = kindOf(request);
    requests.set(kind, (requests.get(kind) ?? 0) + 1);
    const listed = standIn.lists ? /[?&]deployment_ids=([^&]*)/.exec(request.url ?? '')?.[1] : undefined;
    const answered =
      listed === undefined
        ? answer(url, deployments, request, response)
        : answerList(url, deployments, decodeURIComponent(listed).split(','), response);
    answered.catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const standIn: StandIn = {
    url,
    requests,
    lists: false,
    deploy(name, behavior, exists = true) {
      const deployment = new StandInDeployment(name, behavior, exists);
      deployments.set(deployment.id, deployment);
      return deployment;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return standIn;
}

async function answerList(
  url: string,
  deployments: ReadonlyMap<string, StandInDeployment>,
  ids: readonly string[],
  response: ServerResponse,
): Promise<void> {
  await delay(ANSWER_MS);
  const listed = ids.map((id) => deployments.get(id)).filter((deployment) => deployment !== undefined);
  json(response, 200, { resources: listed.map((deployment) => deployment.view(url)), offset: 0 });
  for (const deployment of listed) deployment.happens('polled');
}

/** The key under which a request is counted: `GET /v2/deployments/ID`. */
function kindOf({ method, url }: IncomingMessage): string {
  const path = (url ?? '/')
    .replace(/\?.*/, '')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID');
  return `${method ?? 'GET'} ${path}`;
}

async function answer(
  url: string,
  deployments: ReadonlyMap<string, StandInDeployment>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path, searchParams } = new URL(request.url ?? '/', url);
  const method = request.method ?? 'GET';
  const id = /^\/(?:v2\/deployments|deployments|agents|uploads)\/([^/]+)/.exec(path)?.[1];
  // The time of arrival, before any other work.
  if (id !== undefined && path.endsWith('/redeploy')) deployments.get(id)?.happens('redeploy');
  const body = await read(request);
  const name = searchParams.get('name_contains') ?? nameOf(body);
  const deployment =
    id === undefined ? [...deployments.values()].find((other) => other.name === name) : deployments.get(id);
  if (deployment?.holds(method, path) === true) return;
  await delay(ANSWER_MS);
  if (deployment === undefined) {
    json(response, 404, { detail: `${path} is not here` });
  } else if (path === '/v2/deployments' && method === 'GET') {
    json(response, 200, { resources: deployment.exists ? [deployment.view(url)] : [], offset: 0 });
  } else if (path.endsWith('/runs/stream')) {
    stream(deployment, response);
  } else {
    const answered = controlPlane(url, deployment, method, path, body);
    json(response, 200, answered);
    if (!path.includes('/revisions/') || method !== 'GET') return;
    deployment.happens('polled');
    if ((answered as { readonly status?: string }).status === 'DEPLOYED') deployment.happens('seen deployed');
  }
}

/** The answers of the control plane, and of the agent's health check. */
function controlPlane(
  url: string,
  deployment: StandInDeployment,
  method: string,
  path: string,
  body: string,
): unknown {
  if (path.endsWith('/ok')) return { ok: true };
  if (path.startsWith('/uploads/')) return {};
  if (path.endsWith('/upload-url')) {
    const objectPath = `${deployment.id}/${randomUUID()}`;
    return { upload_url: `${url}/uploads/${objectPath}`, object_path: objectPath };
  }
  if (path.endsWith('/revisions')) return { resources: deployment.revisions(), offset: 0 };
  const [, revisionId, redeploy] = /\/revisions\/([^/]+)(\/redeploy)?$/.exec(path) ?? [];
  if (revisionId !== undefined && redeploy === undefined) {
    return deployment.revisions().find((revision) => revision.id === revisionId);
  }
  if (revisionId !== undefined) deployment.redeploy(revisionId);
  if (method === 'POST') deployment.exists = true;
  if (method === 'PATCH') {
    deployment.ship(tarballPathOf(body));
    deployment.happens('patched');
  }
  return deployment.view(url);
}

/** A stateless run, streamed (contract 001, "Events"). */
function stream(deployment: StandInDeployment, response: ServerResponse): void {
  const { run } = deployment;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event('metadata', { run_id: randomUUID(), attempt: 1 }));
  deployment.happens('run began');
  if (run === 'never answers') return;
  const content = run === 'right' ? RIGHT_ANSWER : 'something else';
  if (run !== 'right') deployment.happens('wrong answer');
  response.end(event('values', { messages: [{ type: 'ai', content }] }));
}

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('latin1')) text += chunk as string;
  return text;
}

/** The name in a request to create a deployment. */
function nameOf(body: string): string | undefined {
  return body.startsWith('{') ? (JSON.parse(body) as { name?: string }).name : undefined;
}

function tarballPathOf(body: string): string | null {
  const { source_revision_config: config } = JSON.parse(body) as {
    source_revision_config?: { source_tarball_path?: string };
  };
  return config?.source_tarball_path ?? null;
}
