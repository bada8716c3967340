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
  DeploymentsList,
  DeploymentsQuery,
} from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import type { IntegrationCreate, IntegrationInstall } from '@slipway/contract/controlPlane/integration';
import type { Listener, ListenerCreate, ListenersList } from '@slipway/contract/controlPlane/listener';
import type { Revision, RevisionsList } from '@slipway/contract/controlPlane/revision';
import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import { LOG_LIMIT, PAGE_LIMIT } from '@slipway/contract/limits';
import type { PageQuery } from '@slipway/contract/pageQuery';
import { type ArtifactUpload, putArtifact, type UploadOptions } from './artifactUpload.ts';
import type { EventStream } from './eventStream.ts';
import { inPublicVocabulary, withUploadHeaders } from './publicVocabulary.ts';
import { type CallOptions, createService, type Service, type ServiceOptions } from './service.ts';
import { ServiceError } from './serviceError.ts';

/** A request body with its computed fields left out, as a caller writes it. */
type DeploymentCreateBody = Omit<DeploymentCreate, 'source_config'> & { source_config: JsonBody };
/** {@link DeploymentPatch} as a caller writes it. */
type DeploymentPatchBody = Omit<DeploymentPatch, 'source_config'> & {
  source_config?: JsonBody | null;
};
type JsonBody = Readonly<Record<string, unknown>>;

interface CreateOptions extends CallOptions {
  /**
   * Sent as `Idempotency-Key`: where the service knows that header, the same request under the same key makes nothing a
   * second time. 1 to 255 characters of printable ASCII.
   */
  readonly idempotencyKey?: string;
}

interface RevisionsFilter extends Partial<PageQuery> {
  readonly status?: readonly string[];
}

export interface ControlPlaneClientOptions extends ServiceOptions {
  /** Whose names the control plane speaks. Default: the contract's. The client is called in those either way. */
  readonly vocabulary?: Vocabulary;
}

/**
 * The control plane's client: the endpoints of contract 000 and of its public relative that Slipway calls. Each call sends
 * its request once and throws a {@link ServiceError} for everything but a success. `patch`, `create` and `redeploy` are not safe to
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
  listIntegrations(options?: CallOptions): Promise<IntegrationInstall[]>;
  createIntegration(body: IntegrationCreate, options?: CallOptions): Promise<IntegrationInstall>;
  deleteIntegration(integrationId: string, options?: CallOptions): Promise<void>;
  listListeners(query?: Partial<PageQuery>, options?: CallOptions): Promise<ListenersList>;
  /** Every listener, newest first, page by page. */
  eachListener(options?: CallOptions): AsyncGenerator<Listener, void>;
  createListener(body: ListenerCreate, options?: CallOptions): Promise<Listener>;
  getListener(listenerId: string, options?: CallOptions): Promise<Listener>;
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
    options?: CallOptions,
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
  const revisionOf = (deploymentId: string, revisionId: string) => ({
    deployment_id: deploymentId,
    revision_id: revisionId,
  });

  const client: ControlPlaneClient = {
    createDeployment: (body, { idempotencyKey, ...call } = {}) => {
      // In quotes, as the IETF draft writes it: the platform takes both, others may take only this.
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'idempotency-key': JSON.stringify(idempotencyKey) };
      return service.call(ENDPOINTS.createDeployment, { body, headers }, call);
    },
    getDeployment: (id, call) => service.call(ENDPOINTS.getDeployment, { params: of(id) }, call),
    patchDeployment: (id, body, call) =>
      service.call(ENDPOINTS.patchDeployment, { params: of(id), body }, call),
    deleteDeployment: (id, query = {}, call) =>
      service.call(ENDPOINTS.deleteDeployment, { params: of(id), query }, call),
    listDeployments: ({ deployment_ids: ids, ...rest } = {}, call) => {
      const query = ids === undefined ? rest : { ...rest, deployment_ids: ids.join(',') };
      return service.call(ENDPOINTS.listDeployments, { query }, call);
    },
    eachDeployment: (query, call) =>
      eachOfPages((page) => client.listDeployments({ ...query, ...page }, call)),
    getRevision: (id, revisionId, call) =>
      service.call(ENDPOINTS.getRevision, { params: revisionOf(id, revisionId) }, call),
    listRevisions: (id, { status, ...page } = {}, call) => {
      const query = status === undefined ? page : { ...page, status: status.join(',') };
      return service.call(ENDPOINTS.listRevisions, { params: of(id), query }, call);
    },
    eachRevision: (id, call) => eachOfPages((page) => client.listRevisions(id, page, call)),
    redeployRevision: (id, revisionId, call) =>
      service.call(ENDPOINTS.redeployRevision, { params: revisionOf(id, revisionId) }, call),
    listIntegrations: (call) => service.call(ENDPOINTS.listIntegrations, {}, call),
    createIntegration: (body, call) => service.call(ENDPOINTS.createIntegration, { body }, call),
    deleteIntegration: (id, call) =>
      service.call(ENDPOINTS.deleteIntegration, { params: { integration_id: id } }, call),
    listListeners: (query = {}, call) => service.call(ENDPOINTS.listListeners, { query }, call),
    eachListener: (call) => eachOfPages((page) => client.listListeners(page, call)),
    createListener: (body, call) => service.call(ENDPOINTS.createListener, { body }, call),
    getListener: (id, call) => service.call(ENDPOINTS.getListener, { params: { listener_id: id } }, call),
    deleteListener: (id, call) =>
      service.call(ENDPOINTS.deleteListener, { params: { listener_id: id } }, call),
    createUploadUrl: async (id, call) => {
      const upload = await requestUploadUrl(id, call);
      return isPublic ? withUploadHeaders(upload) : upload;
    },
    uploadArtifact: (upload, uploadOptions) => putArtifact(service.agent, service, upload, uploadOptions),
    getRevisionLogs: (id, revisionId, query = {}, call) => {
      const parts = { params: revisionOf(id, revisionId), query };
      return service.call(ENDPOINTS.getRevisionLogs, parts, call);
    },
    followRevisionLogs: (id, revisionId, query = {}, call) => {
      const parts = { params: revisionOf(id, revisionId), query: { ...query, follow: true } };
      return service.stream(ENDPOINTS.getRevisionLogs, parts, call);
    },
    getBuildLogs: (id, revisionId, body = {}, call) => {
      const params = { project_id: id, revision_id: revisionId };
      return service.call(ENDPOINTS.getBuildLogs, { params, body }, call);
    },
    getDeployLogs: (id, revisionId, body = {}, call) => {
      const params = { project_id: id, revision_id: revisionId };
      return service.call(ENDPOINTS.getDeployLogs, { params, body }, call);
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
        return await service.call(ENDPOINTS.createUploadUrl, parts, options);
      } catch (error) {
        if (!isUnknownPath(error, deploymentId)) throw error;
      }
    }
    const value = await service.call(ENDPOINTS.createUploadUrlVersioned, parts, options);
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
