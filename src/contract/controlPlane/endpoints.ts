import { type Endpoint } from '../endpoint.ts';
import { PageQuery } from '../pageQuery.ts';
import { BuildLogs, BuildLogsPath, BuildLogsRequest } from './buildLogs.ts';
import {
  Deployment,
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentPath,
  DeploymentsList,
  DeploymentsQuery,
} from './deployment.ts';
import { IntegrationInstalls } from './integration.ts';
import { ListenersList } from './listener.ts';
import { Revision, RevisionPath, RevisionsList, RevisionsQuery } from './revision.ts';
import { UploadUrl } from './uploadUrl.ts';

const CONTRACT = 'contract 000, Endpoints';
const RELATIVE = 'facts, The control plane in the wild';

/**
 * The endpoints of the control plane (contract 000, "Endpoints") and those of its public relative that fill its gaps.
 * Where the contract shows no status, facts decide: create answers 201, delete 204.
 */
export const CONTROL_PLANE_ENDPOINTS = {
  createDeployment: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v2/deployments',
    request: DeploymentCreate,
    response: Deployment,
    success: 201,
    errors: [400, 409, 422],
    section: CONTRACT,
  },
  getDeployment: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v2/deployments/{deployment_id}',
    params: DeploymentPath,
    response: Deployment,
    success: 200,
    errors: [404, 422],
    section: CONTRACT,
  },
  patchDeployment: {
    service: 'controlPlane',
    method: 'PATCH',
    path: '/v2/deployments/{deployment_id}',
    params: DeploymentPath,
    request: DeploymentPatch,
    response: Deployment,
    success: 200,
    errors: [400, 404, 422],
    section: CONTRACT,
  },
  getRevision: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}',
    params: RevisionPath,
    response: Revision,
    success: 200,
    errors: [404, 422],
    section: CONTRACT,
  },
  redeployRevision: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    params: RevisionPath,
    response: Deployment,
    success: 200,
    errors: [400, 404, 422],
    section: CONTRACT,
  },
  listIntegrations: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v1/integrations/github/install',
    response: IntegrationInstalls,
    success: 200,
    errors: [],
    section: CONTRACT,
  },
  listListeners: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v2/listeners',
    query: PageQuery,
    response: ListenersList,
    success: 200,
    errors: [422],
    section: CONTRACT,
  },
  createUploadUrl: {
    service: 'controlPlane',
    method: 'POST',
    path: '/deployments/{deployment_id}/upload-url',
    params: DeploymentPath,
    response: UploadUrl,
    success: 200,
    errors: [400, 404, 422],
    section: CONTRACT,
  },
  createUploadUrlVersioned: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v2/deployments/{deployment_id}/upload-url',
    params: DeploymentPath,
    response: UploadUrl,
    success: 200,
    errors: [400, 404, 422],
    section: RELATIVE,
  },
  listDeployments: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v2/deployments',
    query: DeploymentsQuery,
    response: DeploymentsList,
    success: 200,
    errors: [422],
    section: RELATIVE,
  },
  deleteDeployment: {
    service: 'controlPlane',
    method: 'DELETE',
    path: '/v2/deployments/{deployment_id}',
    params: DeploymentPath,
    query: DeploymentDeleteQuery,
    response: null,
    success: 204,
    errors: [404, 422],
    section: RELATIVE,
  },
  listRevisions: {
    service: 'controlPlane',
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions',
    params: DeploymentPath,
    query: RevisionsQuery,
    response: RevisionsList,
    success: 200,
    errors: [404, 422],
    section: RELATIVE,
  },
  getBuildLogs: {
    service: 'controlPlane',
    method: 'POST',
    path: '/v1/projects/{project_id}/revisions/{revision_id}/build_logs',
    params: BuildLogsPath,
    request: BuildLogsRequest,
    response: BuildLogs,
    success: 200,
    errors: [404, 422],
    section: RELATIVE,
  },
} as const satisfies Record<string, Endpoint>;
