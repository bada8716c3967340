import type { ZodOpenApiComponentsObject } from 'zod-openapi';

import { BuildLogs, BuildLogsRequest } from '../../contract/controlPlane/buildLogs.ts';
import { Deployment, DeploymentCreate, DeploymentPatch } from '../../contract/controlPlane/deployment.ts';
import { DeploymentsDeleted, DeploymentsList } from '../../contract/controlPlane/deploymentLists.ts';
import { Listener, ListenersList } from '../../contract/controlPlane/listener.ts';
import {
  Container,
  EnvVar,
  LocalObjectReference,
  ResourceRequirements,
  Volume,
  VolumeMount,
} from '../../contract/controlPlane/pod.ts';
import { ResourceSpec } from '../../contract/controlPlane/resourceSpec.ts';
import { Revision, RevisionsList } from '../../contract/controlPlane/revision.ts';
import { RevisionLogLine, RevisionLogPage } from '../../contract/controlPlane/revisionLogs.ts';
import { Secret, SecretReference } from '../../contract/controlPlane/secret.ts';
import { SourceConfig } from '../../contract/controlPlane/sourceConfig.ts';
import { SourceRevisionConfig } from '../../contract/controlPlane/sourceRevisionConfig.ts';
import { UploadUrl } from '../../contract/controlPlane/uploadUrl.ts';
import { ErrorDetail, HttpValidationError, ValidationIssue } from '../../contract/httpErrors.ts';
import { Run, RunCreate } from '../../contract/runApi/run.ts';
import { Thread, ThreadState } from '../../contract/runApi/thread.ts';

/** The schemas that the documents refer to by name: the contracts' own nouns. */
export const COMPONENT_SCHEMAS: NonNullable<ZodOpenApiComponentsObject['schemas']> = {
  Deployment,
  DeploymentCreate,
  DeploymentPatch,
  DeploymentsDeleted,
  DeploymentsList,
  Revision,
  RevisionsList,
  SourceConfig,
  SourceRevisionConfig,
  Secret,
  SecretReference,
  ResourceSpec,
  LocalObjectReference,
  Volume,
  VolumeMount,
  Container,
  EnvVar,
  ResourceRequirements,
  Listener,
  ListenersList,
  UploadUrl,
  BuildLogs,
  BuildLogsRequest,
  RevisionLogLine,
  RevisionLogPage,
  ErrorDetail,
  ValidationIssue,
  HttpValidationError,
  Run,
  RunCreate,
  Thread,
  ThreadState,
};
