import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';

import type { Deployment } from '@slipway/contract/controlPlane/deployment';
import type { Revision } from '@slipway/contract/controlPlane/revision';
import type { DeploymentsClient } from './controlPlane.ts';
import type { EventStream } from './eventStream.ts';
import type { RunApiClient } from './runApi.ts';
import { ServiceError } from './serviceError.ts';

export interface MemoryRevision {
  readonly id: string;
  status: string;
  readonly source: Deployment['source_revision_config'];
  /** What it runs: a tarball's digest, `image:` and a URI, or `git:` and a ref. */
  identity: string;
}

export interface MemoryDeployment {
  readonly id: string;
  readonly name: string;
  readonly agentUrl: string;
  activeRevisionId: string | null;
  /** Oldest first. */
  readonly revisions: MemoryRevision[];
}

interface MemoryControlPlaneOptions {
  readonly newDeployment: (name: string) => Pick<MemoryDeployment, 'id' | 'agentUrl'>;
  /** Default: a UUID. */
  readonly newRevisionId?: (deployment: MemoryDeployment) => string;
}

const TENANT_ID = '00000000-0000-4000-8000-000000000000';
const CREATED_AT = '2026-01-01T00:00:00.000Z';
const NEWEST_PAGE = 20;

/** A control plane in memory (contract 000), whose owner changes the status of its revisions. */
export class MemoryControlPlane {
  /** Whether a redeploy creates a new revision or deploys the old one again. */
  redeployMakesRevision = false;
  offersList = true;
  offersDelete = true;
  readonly deployments: MemoryDeployment[] = [];
  readonly #options: MemoryControlPlaneOptions;
  /** The uploaded artifacts, by object path. */
  readonly #uploads = new Map<string, string>();
  #uploadUrls = 0;

  constructor(options: MemoryControlPlaneOptions) {
    this.#options = options;
  }

  addDeployment(name: string): MemoryDeployment {
    const created = { name, activeRevisionId: null, revisions: [], ...this.#options.newDeployment(name) };
    this.deployments.push(created);
    return created;
  }

  /** Adds the newest revision of a deployment. Default: a queued one. */
  addRevision(
    deployment: MemoryDeployment,
    revision: Pick<MemoryRevision, 'identity'> & Partial<MemoryRevision>,
  ): MemoryRevision {
    const id = this.#options.newRevisionId?.(deployment) ?? randomUUID();
    const added = { status: 'QUEUED', source: {}, ...revision, id };
    deployment.revisions.push(added);
    return added;
  }

  deployment(id: string): MemoryDeployment {
    return this.deployments.find((deployment) => deployment.id === id) ?? notFound(`deployment ${id}`);
  }

  revision(deploymentId: string, revisionId: string): MemoryRevision {
    const { revisions } = this.deployment(deploymentId);
    return revisions.find(({ id }) => id === revisionId) ?? notFound(`revision ${revisionId}`);
  }

  bringUp(deploymentId: string, revisionId: string): void {
    this.revision(deploymentId, revisionId).status = 'DEPLOYED';
    this.deployment(deploymentId).activeRevisionId = revisionId;
  }

  /**
   * A client of this control plane.
   * @param before - called before each call. If it throws, the call fails with that error.
   */
  client(before: () => void | Promise<void> = () => undefined): DeploymentsClient {
    const answered = async (deploymentId: string): Promise<Deployment> => {
      await before();
      return deploymentAnswer(this.deployment(deploymentId));
    };
    const { deployments } = this;
    const newestFirst = async (deploymentId: string): Promise<Revision[]> => {
      await before();
      if (!this.offersList) notFound('a list of revisions');
      return this.deployment(deploymentId).revisions.toReversed().map(revisionAnswer);
    };
    return {
      createDeployment: async ({ name }) => {
        await before();
        const deployment = this.addDeployment(name);
        this.addRevision(deployment, { identity: 'created', status: 'AWAITING_BUILD' });
        return deploymentAnswer(deployment);
      },
      getDeployment: answered,
      patchDeployment: async (deploymentId, { source_revision_config: source }) => {
        await before();
        const deployment = this.deployment(deploymentId);
        this.addRevision(deployment, { source: source ?? {}, identity: this.#identityOf(source ?? {}) });
        return deploymentAnswer(deployment);
      },
      deploymentNamed: async (name) => {
        await before();
        const found = deployments.find((deployment) => deployment.name === name);
        return found === undefined ? undefined : deploymentAnswer(found);
      },
      getRevision: async (deploymentId, revisionId) => {
        await before();
        return revisionAnswer(this.revision(deploymentId, revisionId));
      },
      listRevisions: async (deploymentId, query) => {
        const resources = (await newestFirst(deploymentId)).slice(0, query.limit ?? NEWEST_PAGE);
        return { resources, offset: resources.length };
      },
      eachRevision: async function* (deploymentId) {
        yield* await newestFirst(deploymentId);
      },
      redeployRevision: async (deploymentId, revisionId) => {
        await before();
        const deployment = this.deployment(deploymentId);
        const revision = this.revision(deploymentId, revisionId);
        if (this.redeployMakesRevision) this.addRevision(deployment, { ...revision, status: 'QUEUED' });
        else revision.status = 'QUEUED';
        return deploymentAnswer(deployment);
      },
      deleteDeployment: async (deploymentId) => {
        await before();
        if (!this.offersDelete) notFound('the path');
        const at = deployments.indexOf(this.deployment(deploymentId));
        deployments.splice(at, 1);
      },
      createUploadUrl: async (deploymentId) => {
        await before();
        this.#uploadUrls += 1;
        const objectPath = `uploads/${deploymentId}/${this.#uploadUrls}.tar.gz`;
        return { upload_url: `http://uploads.invalid/${objectPath}`, object_path: objectPath };
      },
      uploadArtifact: async ({ upload, source }) => {
        if (typeof source === 'string') throw new TypeError('a memory control plane takes a stream');
        this.#uploads.set(new URL(upload.upload_url).pathname.slice(1), await text(source()));
      },
    };
  }

  #identityOf({
    source_tarball_path: path,
    image_uri: image,
    repo_ref: ref,
  }: MemoryRevision['source']): string {
    if (image != null) return `image:${image}`;
    if (ref != null) return `git:${ref}`;
    return this.#uploads.get(path ?? '') ?? `not uploaded: ${path ?? 'nothing'}`;
  }
}

/**
 * An agent in memory (contract 001).
 * @param answer - the final text of its runs; `undefined`: no agent answers at its address.
 */
export function memoryAgent(
  answer: () => string | undefined,
): Pick<RunApiClient, 'ok' | 'streamStatelessRun' | 'streamRun' | 'createThread' | 'deleteThread'> {
  const ask = (): string => {
    const answered = answer();
    if (answered !== undefined) return answered;
    const request = { method: 'GET', path: '/ok', mayHaveBeenTaken: false };
    throw new ServiceError('SLIPWAY_UNREACHABLE', 'the connection was refused', request);
  };
  const stream = async (): Promise<EventStream> => {
    await Promise.resolve();
    const events = [
      { event: 'metadata', data: { run_id: randomUUID(), attempt: 1 } },
      { event: 'values', data: { messages: [{ type: 'ai', content: ask() }] } },
    ];
    return ReadableStream.from(events);
  };
  const ok = async (): Promise<undefined> => {
    await Promise.resolve();
    ask();
  };
  return {
    ok,
    streamStatelessRun: stream,
    streamRun: stream,
    createThread: async (asked) => {
      ask();
      const now = new Date().toISOString();
      return Promise.resolve({
        thread_id: asked.thread_id ?? randomUUID(),
        created_at: now,
        updated_at: now,
        metadata: {},
        config: {},
        values: null,
        status: 'idle',
      });
    },
    deleteThread: ok,
  };
}

function deploymentAnswer({ id, name, agentUrl, activeRevisionId, revisions }: MemoryDeployment): Deployment {
  const latest = revisions.at(-1);
  return {
    id,
    tenant_id: TENANT_ID,
    name,
    source: 'internal_source',
    source_config: { custom_url: agentUrl },
    source_revision_config: latest?.source ?? {},
    secrets: [],
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
    status: 'READY',
    latest_revision_id: latest?.id ?? null,
    active_revision_id: activeRevisionId,
  };
}

function revisionAnswer({ id, status, source }: MemoryRevision): Revision {
  const reason = status === 'BUILD_FAILED' ? 'the build fails' : null;
  return { id, status, source_revision_config: source, status_message: reason };
}

function notFound(what: string): never {
  const detail = `${what} is not found`;
  const request = { method: 'GET', path: '/v2/deployments', status: 404, mayHaveBeenTaken: false, detail };
  throw new ServiceError('SLIPWAY_NOT_FOUND', detail, request);
}
