import type { ZodOpenApiComponentsObject } from 'zod-openapi';

import { BuildLogs, BuildLogsRequest } from '@slipway/contract/controlPlane/buildLogs';
import { Deployment, DeploymentCreate, DeploymentPatch } from '@slipway/contract/controlPlane/deployment';
import { DeploymentsDeleted, DeploymentsList } from '@slipway/contract/controlPlane/deploymentLists';
import { Listener, ListenersList } from '@slipway/contract/controlPlane/listener';
import {
  Container,
  EnvVar,
  LocalObjectReference,
  ResourceRequirements,
  Volume,
  VolumeMount,
} from '@slipway/contract/controlPlane/pod';
import { ResourceSpec } from '@slipway/contract/controlPlane/resourceSpec';
import { Revision, RevisionsList } from '@slipway/contract/controlPlane/revision';
import { RevisionLogLine, RevisionLogPage } from '@slipway/contract/controlPlane/revisionLogs';
import { Secret, SecretReference } from '@slipway/contract/controlPlane/secret';
import { SourceConfig } from '@slipway/contract/controlPlane/sourceConfig';
import { SourceRevisionConfig } from '@slipway/contract/controlPlane/sourceRevisionConfig';
import { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import { ErrorDetail, HttpValidationError, ValidationIssue } from '@slipway/contract/httpErrors';
import { Run, RunCreate } from '@slipway/contract/runApi/run';
import { Thread, ThreadState } from '@slipway/contract/runApi/thread';

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
