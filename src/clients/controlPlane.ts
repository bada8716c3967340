import {
  ACCESS_ENDPOINTS,
  type ApiKeyCreate,
  type ApiKeysQuery,
  type AuditQuery,
} from '@slipway/contract/controlPlane/access';
import type {
  Deployment,
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentsQuery,
} from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { IntegrationCreate } from '@slipway/contract/controlPlane/integration';
import type { ListenerCreate } from '@slipway/contract/controlPlane/listener';
import type { BuildLogsRequest, RevisionLogsQuery } from '@slipway/contract/controlPlane/logs';
import type { Revision } from '@slipway/contract/controlPlane/revision';
import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import {
  translateResource,
  TypedDeploymentCreate,
  type Vocabulary,
} from '@slipway/contract/controlPlane/vocabulary';
import type { Endpoint } from '@slipway/contract/endpoint';
import { toValidationIssues } from '@slipway/contract/httpErrors';
import { ARTIFACT_MAX_BYTES, PAGE_LIMIT } from '@slipway/contract/limits';
import type { PageQuery } from '@slipway/contract/scalars';
import { z } from 'zod';

import { type ArtifactUpload, putArtifact } from './artifactUpload.ts';
import type { CallOptions } from './exchange.ts';
import { createService, notSent, type Service, type ServiceOptions } from './service.ts';
import { isDeploymentGone, ServiceError } from './serviceError.ts';

/** A request body without its computed fields, as callers write it. */
type DeploymentCreateBody = Omit<DeploymentCreate, 'source_config'> & { source_config: JsonBody };
type DeploymentPatchBody = Omit<DeploymentPatch, 'source_config'> & { source_config?: JsonBody | null };
type JsonBody = Readonly<Record<string, unknown>>;

interface CreateOptions extends CallOptions {
  /** Sent as `Idempotency-Key`, if the service supports that: 1 to 255 characters of printable ASCII. */
  readonly idempotencyKey?: string;
}

export interface ControlPlaneClientOptions extends ServiceOptions {
  /** The vocabulary of the control plane. Default: the contract's, which the methods always use. */
  readonly vocabulary?: Vocabulary;
}

export type ControlPlaneClient = ReturnType<typeof createControlPlaneClient>;

/** The control plane's calls that releases make. */
export type DeploymentsClient = Pick<
  ControlPlaneClient,
  | 'createDeployment'
  | 'getDeployment'
  | 'patchDeployment'
  | 'deploymentNamed'
  | 'getRevision'
  | 'listRevisions'
  | 'eachRevision'
  | 'redeployRevision'
  | 'deleteDeployment'
  | 'createUploadUrl'
  | 'uploadArtifact'
>;

/**
 * Creates a control plane client with its own pool of kept-alive connections. It has one method per endpoint of
 * contract 000 and of the public API that Slipway uses. Each sends its request once and throws a {@link ServiceError} unless it
 * succeeds. Do not repeat `patchDeployment`, `createDeployment` and `redeployRevision` if `mayHaveBeenTaken` is true.
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createControlPlaneClient(options: ControlPlaneClientOptions) {
  const { vocabulary = 'contract', ...serviceOptions } = options;
  const isPublic = vocabulary === 'public';
  const plain = createService(serviceOptions);
  const service = isPublic ? inPublicVocabulary(plain) : plain;
  const { call: ask } = service;
  const requestUploadUrl = uploadUrlRequester(service, isPublic);
  const of = (deployment_id: string) => ({ deployment_id });
  const revisionOf = (deployment_id: string, revision_id: string) => ({ deployment_id, revision_id });
  const projectOf = (project_id: string, revision_id: string) => ({ project_id, revision_id });

  const listDeployments = (
    { deployment_ids: ids, ...rest }: Partial<DeploymentsQuery>,
    call?: CallOptions,
  ) => {
    const query = ids === undefined ? rest : { ...rest, deployment_ids: ids.join(',') };
    return ask(ENDPOINTS.listDeployments, { query }, call);
  };
  const listRevisions = (id: string, query: Partial<PageQuery>, call?: CallOptions) =>
    ask(ENDPOINTS.listRevisions, { params: of(id), query }, call);

  return {
    createDeployment: (body: DeploymentCreateBody, { idempotencyKey, ...call }: CreateOptions = {}) => {
      // In quotes, as in the IETF draft: the platform accepts both forms, others may accept only this one.
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'idempotency-key': JSON.stringify(idempotencyKey) };
      return ask(ENDPOINTS.createDeployment, { body, headers }, call);
    },
    getDeployment: (id: string, call?: CallOptions) => ask(ENDPOINTS.getDeployment, { params: of(id) }, call),
    patchDeployment: (id: string, body: DeploymentPatchBody, call?: CallOptions) =>
      ask(ENDPOINTS.patchDeployment, { params: of(id), body }, call),
    deleteDeployment: (id: string, query: Partial<DeploymentDeleteQuery>, call?: CallOptions) =>
      ask(ENDPOINTS.deleteDeployment, { params: of(id), query }, call),
    listDeployments,
    /**
     * The deployment of a name; `undefined` if there is none. If the control plane allows several, a late request to
     * create it makes a second one: the oldest counts, so that releases stay where they are. One that is being deleted
     * counts last.
     */
    deploymentNamed: async (name: string, call?: CallOptions): Promise<Deployment | undefined> => {
      for await (const page of pagesOf((query) => listDeployments({ name_contains: name, ...query }, call))) {
        const named = page.filter((deployment) => deployment.name === name);
        if (named.length > 0) return named.sort((one, other) => rank(one) - rank(other))[0];
      }
      return undefined;
    },
    /** All deployments that match the filter, page by page. */
    eachDeployment: (query?: Omit<Partial<DeploymentsQuery>, keyof PageQuery>) =>
      eachOfPages((page) => listDeployments({ ...query, ...page })),
    getRevision: (id: string, revisionId: string, call?: CallOptions) =>
      ask(ENDPOINTS.getRevision, { params: revisionOf(id, revisionId) }, call),
    listRevisions,
    /** All revisions of a deployment, newest first, page by page. */
    eachRevision: (id: string, call?: CallOptions) => eachOfPages((page) => listRevisions(id, page, call)),
    redeployRevision: (id: string, revisionId: string, call?: CallOptions) =>
      ask(ENDPOINTS.redeployRevision, { params: revisionOf(id, revisionId) }, call),
    listIntegrations: () => ask(ENDPOINTS.listIntegrations, {}),
    createIntegration: (body: IntegrationCreate) => ask(ENDPOINTS.createIntegration, { body }),
    deleteIntegration: (id: string) => ask(ENDPOINTS.deleteIntegration, { params: { integration_id: id } }),
    /** All listeners, newest first, page by page. */
    eachListener: () => eachOfPages((query) => ask(ENDPOINTS.listListeners, { query })),
    createListener: (body: ListenerCreate) => ask(ENDPOINTS.createListener, { body }),
    deleteListener: (id: string) => ask(ENDPOINTS.deleteListener, { params: { listener_id: id } }),
    /**
     * Requests the URL to upload an artifact to. The contract's path has no version. Decision: if the service has no
     * such path (a 404 that does not name the deployment), the public API's `/v2` path is used from then on.
     */
    createUploadUrl: async (id: string, call?: CallOptions): Promise<UploadUrl> => {
      const upload = await requestUploadUrl(id, call);
      return isPublic ? withUploadHeaders(upload) : upload;
    },
    /** Streams an artifact to its upload URL. See {@link putArtifact}. */
    uploadArtifact: (upload: ArtifactUpload, call?: CallOptions) =>
      putArtifact(service.agent, service, upload, call),
    /** A page of a revision's log: of its build, its agent or both. Not every control plane has this. */
    getRevisionLogs: (
      id: string,
      revisionId: string,
      query: Partial<Omit<RevisionLogsQuery, 'follow'>>,
      call?: CallOptions,
    ) => ask(ENDPOINTS.getRevisionLogs, { params: revisionOf(id, revisionId), query }, call),
    /** Follows a revision's log, with events `log`, `status` and `end`. A stream without `end` was interrupted. */
    followRevisionLogs: (
      id: string,
      revisionId: string,
      query: Partial<Pick<RevisionLogsQuery, 'stage' | 'offset'>>,
      call?: CallOptions,
    ) => {
      const parts = { params: revisionOf(id, revisionId), query: { ...query, follow: true } };
      return service.stream(ENDPOINTS.getRevisionLogs, parts, call);
    },
    getBuildLogs: (id: string, revisionId: string, body: Partial<BuildLogsRequest>, call?: CallOptions) =>
      ask(ENDPOINTS.getBuildLogs, { params: projectOf(id, revisionId), body }, call),
    /** The output of a revision's agent, without its build. */
    getDeployLogs: (id: string, revisionId: string, body: Partial<BuildLogsRequest>, call?: CallOptions) =>
      ask(ENDPOINTS.getDeployLogs, { params: projectOf(id, revisionId), body }, call),
    close: () => service.close(),
  };
}

/** Where a deployment comes among those of its name: lower is first. */
function rank({ status, created_at: at }: Deployment): number {
  return status === 'AWAITING_DELETE' ? Number.MAX_VALUE : Date.parse(at);
}

type ListOf<T> = (page: PageQuery) => Promise<{ readonly resources: readonly T[]; readonly offset: number }>;

/** The entries of a list, page by page, each once. */
async function* eachOfPages<T extends { readonly id: string }>(list: ListOf<T>): AsyncGenerator<T, void> {
  for await (const page of pagesOf(list)) yield* page;
}

/**
 * The pages of a list, without the entries of earlier ones. It ends at a page without new ones, because a service may
 * return fewer than the limit, or its whole list each time.
 */
async function* pagesOf<T extends { readonly id: string }>(
  list: ListOf<T>,
): AsyncGenerator<readonly T[], void> {
  const seen = new Set<string>();
  for (let offset = 0; ;) {
    const { resources, offset: next } = await list({ limit: PAGE_LIMIT.max, offset });
    const unseen = resources.filter(({ id }) => !seen.has(id));
    if (unseen.length === 0) return;
    for (const { id } of unseen) seen.add(id);
    yield unseen;
    // The answer's offset is that of the next page. Some services repeat the requested offset.
    offset = next > offset ? next : offset + resources.length;
  }
}

/** When a control plane made a revision, in milliseconds since 1970; NaN if it does not say. */
export function momentOf({ created_at: at }: Pick<Revision, 'created_at'>): number {
  return Date.parse(at ?? '');
}

/** Whether a list can have the newest revisions first. The contract has no list, so others may have any order. */
export function isNewestFirst(revisions: readonly Pick<Revision, 'created_at'>[]): boolean {
  const moments = revisions.map(momentOf);
  return moments.every((moment, index) => !(moment < (moments[index + 1] ?? NaN)));
}

/**
 * Whether two revisions were made from one artifact, as a revision and the copy that a redeploy makes. A git ref alone
 * does not say so: a push makes a revision of the same ref.
 */
export function isSameSource(
  one: Revision['source_revision_config'],
  other: Revision['source_revision_config'],
): boolean {
  const fields = ['source_tarball_path', 'image_uri', 'repo_commit_sha'] as const;
  return fields.some((field) => one?.[field] != null && one[field] === other?.[field]);
}

function uploadUrlRequester(service: Service, isVersioned: boolean) {
  let versioned = isVersioned;
  return async (deploymentId: string, options?: CallOptions): Promise<UploadUrl> => {
    const parts = { params: { deployment_id: deploymentId } };
    if (!versioned) {
      try {
        return await service.call(ENDPOINTS.createUploadUrl, parts, options);
      } catch (error) {
        const isNotFound = error instanceof ServiceError && error.status === 404;
        if (!isNotFound || isDeploymentGone(error, deploymentId)) throw error;
      }
    }
    const upload = await service.call(ENDPOINTS.createUploadUrlVersioned, parts, options);
    versioned = true;
    return upload;
  };
}

/**
 * A control plane that uses the public API's vocabulary, with the contract's methods. A body is checked with the
 * contract's rules, then translated. An answer is translated, then read with the contract's schema. The detail of a
 * refused request is not translated.
 * @throws ServiceError REFUSED, before anything is sent, if a rule is broken.
 */
function inPublicVocabulary(service: Service): Service {
  const translated = new Map<Endpoint, Endpoint>();
  return {
    ...service,
    call: async (endpoint, parts, options) => {
      const rules = RULES.get(endpoint.request);
      const checked = rules?.safeParse(parts.body);
      if (checked?.success === false) throw notSent(endpoint, toValidationIssues(checked.error, 'body'));
      const known = translated.get(endpoint) ?? withTranslatedAnswer(endpoint);
      translated.set(endpoint, known);
      const body = translateResource(parts.body, 'public');
      return service.call(known as typeof endpoint, { ...parts, body }, options);
    },
  };
}

/** Adds the headers that the public service's object store has signed if its answer names none. */
function withUploadHeaders(upload: UploadUrl): UploadUrl {
  if (upload.upload_headers != null) return upload;
  return { ...upload, upload_headers: { 'x-goog-content-length-range': `0,${ARTIFACT_MAX_BYTES}` } };
}

/** The schemas for bodies: the contract's own, except that every source may have a `deployment_type`. */
const RULES: ReadonlyMap<unknown, z.ZodType> = new Map<unknown, z.ZodType>([
  [ENDPOINTS.createDeployment.request, TypedDeploymentCreate],
  [ENDPOINTS.patchDeployment.request, ENDPOINTS.patchDeployment.request],
]);

function withTranslatedAnswer(endpoint: Endpoint): Endpoint {
  const { response } = endpoint;
  if (response === null || response === 'stream') return endpoint;
  return { ...endpoint, response: z.preprocess((answer) => translateResource(answer, 'contract'), response) };
}

export type PlatformAccessClient = ReturnType<typeof createPlatformAccessClient>;

/**
 * Creates a client for a platform's API keys, audit log and secrets. The key needs the scope `admin`. Each call
 * throws a `ServiceError` unless it succeeds.
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createPlatformAccessClient(options: ServiceOptions) {
  const service = createService(options);
  const { call: ask } = service;
  return {
    /** Creates a key. Only this answer contains it. */
    createApiKey: (body: ApiKeyCreate) => ask(ACCESS_ENDPOINTS.createApiKey, { body }),
    eachApiKey: (query: Pick<ApiKeysQuery, 'revoked'>) =>
      eachOfPages((page) => ask(ACCESS_ENDPOINTS.listApiKeys, { query: { ...query, ...page } })),
    revokeApiKey: (keyId: string) => ask(ACCESS_ENDPOINTS.revokeApiKey, { params: { key_id: keyId } }),
    listAudit: (query: Partial<AuditQuery>) => ask(ACCESS_ENDPOINTS.listAudit, { query }),
    /** Encrypts the stored secrets with a new master key. Only for the platform's own key. */
    rotateSecrets: (call: CallOptions) => ask(ACCESS_ENDPOINTS.rotateSecrets, {}, call),
    close: () => service.close(),
  };
}
