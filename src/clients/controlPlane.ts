import type {
  BuildLogLine,
  BuildLogs,
  BuildLogsRequest,
  RevisionLogPage,
  RevisionLogsQuery,
} from '@slipway/contract/controlPlane/logs';
import type {
  Deployment,
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentsDeleted,
  DeploymentsList,
  DeploymentsQuery,
} from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { IntegrationCreate, IntegrationInstall } from '@slipway/contract/controlPlane/integration';
import type {
  Listener,
  ListenerCreate,
  ListenerPatch,
  ListenersList,
} from '@slipway/contract/controlPlane/listener';
import type { Revision, RevisionsList } from '@slipway/contract/controlPlane/revision';
import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import { LOG_LIMIT, PAGE_LIMIT } from '@slipway/contract/limits';
import type { PageQuery } from '@slipway/contract/scalars';
import { type ArtifactUpload, putArtifact, type UploadOptions } from './artifactUpload.ts';
import type { EventStream } from './eventStream.ts';
import { inPublicVocabulary, withUploadHeaders } from './publicVocabulary.ts';
import {
  type CallOptions,
  createService,
  type Service,
  type ServiceOptions,
  type StreamOptions,
} from './service.ts';
import { ServiceError } from './serviceError.ts';

/** A request body with its computed fields left out, as a caller writes it. */
type DeploymentCreateBody = Omit<DeploymentCreate, 'source_config'> & { source_config: JsonBody };
/** {@link DeploymentPatch} as a caller writes it. */
type DeploymentPatchBody = Omit<DeploymentPatch, 'source_config'> & {
  source_config?: JsonBody | null;
};
type JsonBody = Readonly<Record<string, unknown>>;

/** The options of a request to create. */
interface CreateOptions extends CallOptions {
  /**
   * Sent as `Idempotency-Key`: where the service knows that header, the same request under the same key makes nothing a
   * second time. 1 to 255 characters of printable ASCII.
   */
  readonly idempotencyKey?: string;
}

/** The filter of a list of revisions. */
interface RevisionsFilter extends Partial<PageQuery> {
  readonly status?: readonly string[];
}

/** How a client of a control plane is made. */
export interface ControlPlaneClientOptions extends ServiceOptions {
  /** Whose names the control plane speaks. Default: the contract's. The client is called in those either way. */
  readonly vocabulary?: Vocabulary;
}

/**
 * The control plane's client: one method per endpoint of contract 000 and of its public relative. Each sends its request
 * once and throws a {@link ServiceError} for everything but a success. `patch`, `create` and `redeploy` are not safe to
 * repeat where `mayHaveBeenTaken` is true.
 */
export interface ControlPlaneClient {
  createDeployment(body: DeploymentCreateBody, options?: CreateOptions): Promise<Deployment>;
  getDeployment(deploymentId: string, options?: CallOptions): Promise<Deployment>;
  patchDeployment(
    deploymentId: string,
    body: DeploymentPatchBody,
    options?: CallOptions,
  ): Promise<Deployment>;
  deleteDeployment(
    deploymentId: string,
    query?: Partial<DeploymentDeleteQuery>,
    options?: CallOptions,
  ): Promise<void>;
  /** Deletes up to 100 deployments; those that were not there are told. */
  deleteDeployments(deploymentIds: readonly string[], options?: CallOptions): Promise<DeploymentsDeleted>;
  listDeployments(query?: Partial<DeploymentsQuery>, options?: CallOptions): Promise<DeploymentsList>;
  /** Every deployment that the filter lets through, page by page. */
  eachDeployment(
    query?: Omit<Partial<DeploymentsQuery>, keyof PageQuery>,
    options?: CallOptions,
  ): AsyncGenerator<Deployment, void>;
  getRevision(deploymentId: string, revisionId: string, options?: CallOptions): Promise<Revision>;
  listRevisions(deploymentId: string, query?: RevisionsFilter, options?: CallOptions): Promise<RevisionsList>;
  /** Every revision of a deployment, newest first, page by page. */
  eachRevision(deploymentId: string, options?: CallOptions): AsyncGenerator<Revision, void>;
  redeployRevision(deploymentId: string, revisionId: string, options?: CallOptions): Promise<Deployment>;
  /** Stops a revision that waits, is built or is deployed; one that is interrupted already is answered as it is. */
  interruptRevision(deploymentId: string, revisionId: string, options?: CallOptions): Promise<Revision>;
  listIntegrations(options?: CallOptions): Promise<IntegrationInstall[]>;
  createIntegration(body: IntegrationCreate, options?: CallOptions): Promise<IntegrationInstall>;
  deleteIntegration(integrationId: string, options?: CallOptions): Promise<void>;
  listListeners(query?: Partial<PageQuery>, options?: CallOptions): Promise<ListenersList>;
  /** Every listener, newest first, page by page. */
  eachListener(options?: CallOptions): AsyncGenerator<Listener, void>;
  createListener(body: ListenerCreate, options?: CallOptions): Promise<Listener>;
  getListener(listenerId: string, options?: CallOptions): Promise<Listener>;
  patchListener(listenerId: string, body: ListenerPatch, options?: CallOptions): Promise<Listener>;
  deleteListener(listenerId: string, options?: CallOptions): Promise<void>;
  /**
   * Requests where to upload an artifact. The contract's path has no version; decision: where the service has no such
   * path (a 404 that does not name the deployment), the public relative's `/v2` path is asked, and remembered.
   */
  createUploadUrl(deploymentId: string, options?: CallOptions): Promise<UploadUrl>;
  /** Streams an artifact to its upload URL. See {@link putArtifact}. */
  uploadArtifact(upload: ArtifactUpload, options?: UploadOptions): Promise<void>;
  /** A page of a revision's log, of its build and its agent or of one of them. Not every control plane has this. */
  getRevisionLogs(
    deploymentId: string,
    revisionId: string,
    query?: Partial<Omit<RevisionLogsQuery, 'follow'>>,
    options?: CallOptions,
  ): Promise<RevisionLogPage>;
  /**
   * Follows a revision's log: its lines so far and those to come, until no more can come. Events `log`
   * (`RevisionLogLine`), `status` and `end` (`RevisionStatusEvent`); one that ends without `end` was cut off.
   */
  followRevisionLogs(
    deploymentId: string,
    revisionId: string,
    query?: Partial<Pick<RevisionLogsQuery, 'stage' | 'offset'>>,
    options?: StreamOptions,
  ): Promise<EventStream>;
  getBuildLogs(
    deploymentId: string,
    revisionId: string,
    body?: Partial<BuildLogsRequest>,
    options?: CallOptions,
  ): Promise<BuildLogs>;
  /** What a revision's agent wrote, without its build. */
  getDeployLogs(
    deploymentId: string,
    revisionId: string,
    body?: Partial<BuildLogsRequest>,
    options?: CallOptions,
  ): Promise<BuildLogs>;
  /** Every line of a revision's build log, oldest first, page by page. */
  eachBuildLogLine(
    deploymentId: string,
    revisionId: string,
    options?: CallOptions,
  ): AsyncGenerator<BuildLogLine, void>;
  /** Closes the connections once the requests in flight have ended. */
  close(): Promise<void>;
}

/**
 * Makes a control plane client with a pool of kept-alive connections of its own.
 * @throws SlipwayError CONFIG_INVALID when the base URL or the key cannot be used.
 */
export function createControlPlaneClient(options: ControlPlaneClientOptions): ControlPlaneClient {
  const { vocabulary = 'contract', ...serviceOptions } = options;
  const isPublic = vocabulary === 'public';
  const service = isPublic
    ? inPublicVocabulary(createService(serviceOptions))
    : createService(serviceOptions);
  const requestUploadUrl = uploadUrlRequester(service, isPublic);
  const of = (deploymentId: string) => ({ deployment_id: deploymentId });
  const listenerOf = (listenerId: string) => ({ listener_id: listenerId });
  const revisionOf = (deploymentId: string, revisionId: string) => ({
    deployment_id: deploymentId,
    revision_id: revisionId,
  });

  const client: ControlPlaneClient = {
    createDeployment: async (body, { idempotencyKey, ...call } = {}) => {
      // In quotes, as the IETF draft writes it: the platform takes both, others may take only this.
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'idempotency-key': JSON.stringify(idempotencyKey) };
      return (await service.call(ENDPOINTS.createDeployment, { body, headers }, call)).value;
    },
    getDeployment: async (id, call) =>
      (await service.call(ENDPOINTS.getDeployment, { params: of(id) }, call)).value,
    patchDeployment: async (id, body, call) =>
      (await service.call(ENDPOINTS.patchDeployment, { params: of(id), body }, call)).value,
    deleteDeployment: async (id, query = {}, call) => {
      await service.call(ENDPOINTS.deleteDeployment, { params: of(id), query }, call);
    },
    deleteDeployments: async (ids, call) =>
      (await service.call(ENDPOINTS.deleteDeployments, { query: { deployment_ids: ids } }, call)).value,
    listDeployments: async ({ deployment_ids: ids, ...rest } = {}, call) => {
      const query = ids === undefined ? rest : { ...rest, deployment_ids: ids.join(',') };
      return (await service.call(ENDPOINTS.listDeployments, { query }, call)).value;
    },
    eachDeployment: (query, call) =>
      eachOfPages((page) => client.listDeployments({ ...query, ...page }, call)),
    getRevision: async (id, revisionId, call) =>
      (await service.call(ENDPOINTS.getRevision, { params: revisionOf(id, revisionId) }, call)).value,
    listRevisions: async (id, { status, ...page } = {}, call) => {
      const query = status === undefined ? page : { ...page, status: status.join(',') };
      return (await service.call(ENDPOINTS.listRevisions, { params: of(id), query }, call)).value;
    },
    eachRevision: (id, call) => eachOfPages((page) => client.listRevisions(id, page, call)),
    redeployRevision: async (id, revisionId, call) =>
      (await service.call(ENDPOINTS.redeployRevision, { params: revisionOf(id, revisionId) }, call)).value,
    interruptRevision: async (id, revisionId, call) =>
      (await service.call(ENDPOINTS.interruptRevision, { params: revisionOf(id, revisionId) }, call)).value,
    listIntegrations: async (call) => (await service.call(ENDPOINTS.listIntegrations, {}, call)).value,
    createIntegration: async (body, call) =>
      (await service.call(ENDPOINTS.createIntegration, { body }, call)).value,
    deleteIntegration: async (id, call) => {
      await service.call(ENDPOINTS.deleteIntegration, { params: { integration_id: id } }, call);
    },
    listListeners: async (query = {}, call) =>
      (await service.call(ENDPOINTS.listListeners, { query }, call)).value,
    eachListener: (call) => eachOfPages((page) => client.listListeners(page, call)),
    createListener: async (body, call) =>
      (await service.call(ENDPOINTS.createListener, { body }, call)).value,
    getListener: async (id, call) =>
      (await service.call(ENDPOINTS.getListener, { params: listenerOf(id) }, call)).value,
    patchListener: async (id, body, call) =>
      (await service.call(ENDPOINTS.patchListener, { params: listenerOf(id), body }, call)).value,
    deleteListener: async (id, call) => {
      await service.call(ENDPOINTS.deleteListener, { params: listenerOf(id) }, call);
    },
    createUploadUrl: async (id, call) => {
      const upload = await requestUploadUrl(id, call);
      return isPublic ? withUploadHeaders(upload) : upload;
    },
    uploadArtifact: (upload, uploadOptions) => putArtifact(service.agent, service, upload, uploadOptions),
    getRevisionLogs: async (id, revisionId, query = {}, call) => {
      const parts = { params: revisionOf(id, revisionId), query };
      return (await service.call(ENDPOINTS.getRevisionLogs, parts, call)).value;
    },
    followRevisionLogs: (id, revisionId, query = {}, call) => {
      const parts = { params: revisionOf(id, revisionId), query: { ...query, follow: true } };
      return service.stream(ENDPOINTS.getRevisionLogs, parts, call);
    },
    getBuildLogs: async (id, revisionId, body = {}, call) => {
      const params = { project_id: id, revision_id: revisionId };
      return (await service.call(ENDPOINTS.getBuildLogs, { params, body }, call)).value;
    },
    getDeployLogs: async (id, revisionId, body = {}, call) => {
      const params = { project_id: id, revision_id: revisionId };
      return (await service.call(ENDPOINTS.getDeployLogs, { params, body }, call)).value;
    },
    async *eachBuildLogLine(id, revisionId, call) {
      let offset: string | number | undefined;
      for (;;) {
        const request = {
          order: 'asc',
          limit: LOG_LIMIT.max,
          offset,
        } as const;
        const { logs, next_offset: next } = await client.getBuildLogs(id, revisionId, request, call);
        yield* logs;
        // A service that names the same place again would be asked for ever.
        if (next == null || next === offset || logs.length === 0) return;
        offset = next;
      }
    },
    close: () => service.close(),
  };
  return client;
}

/** What every list answers. */
interface Page<T> {
  readonly resources: readonly T[];
  readonly offset: number;
}

async function* eachOfPages<T>(list: (page: PageQuery) => Promise<Page<T>>): AsyncGenerator<T, void> {
  const limit = PAGE_LIMIT.max;
  for (let offset = 0; ;) {
    const { resources, offset: next } = await list({ limit, offset });
    yield* resources;
    if (resources.length < limit) return;
    // The answer's offset is where the next page begins; some services repeat the one that was asked for.
    offset = next > offset ? next : offset + resources.length;
  }
}

function uploadUrlRequester(service: Service, isVersioned: boolean): ControlPlaneClient['createUploadUrl'] {
  let versioned = isVersioned;
  return async (deploymentId, options) => {
    const parts = { params: { deployment_id: deploymentId } };
    if (!versioned) {
      try {
        return (await service.call(ENDPOINTS.createUploadUrl, parts, options)).value;
      } catch (error) {
        if (!isUnknownPath(error, deploymentId)) throw error;
      }
    }
    const { value } = await service.call(ENDPOINTS.createUploadUrlVersioned, parts, options);
    versioned = true;
    return value;
  };
}

/** A deployment that is not found is named in the detail (contract 000, "Errors"); a path that is not found is not. */
function isUnknownPath(error: unknown, deploymentId: string): boolean {
  if (!(error instanceof ServiceError) || error.status !== 404) return false;
  return !(
    typeof error.detail === 'string' && error.detail.toLowerCase().includes(deploymentId.toLowerCase())
  );
}
