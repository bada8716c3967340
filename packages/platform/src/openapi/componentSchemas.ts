import type { ZodOpenApiComponentsObject } from 'zod-openapi';

import {
  BuildLogs,
  BuildLogsRequest,
  RevisionLogLine,
  RevisionLogPage,
} from '@slipway/contract/controlPlane/logs';
import {
  Deployment,
  DeploymentCreate,
  DeploymentPatch,
  DeploymentsDeleted,
  DeploymentsList,
} from '@slipway/contract/controlPlane/deployment';
import { Listener, ListenersList } from '@slipway/contract/controlPlane/listener';
import {
  Container,
  EnvVar,
  LocalObjectReference,
  ResourceRequirements,
  ResourceSpec,
  Volume,
  VolumeMount,
} from '@slipway/contract/controlPlane/resourceSpec';
import { Revision, RevisionsList } from '@slipway/contract/controlPlane/revision';
import { Secret, SecretReference } from '@slipway/contract/controlPlane/secret';
import { SourceConfig, SourceRevisionConfig } from '@slipway/contract/controlPlane/source';
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
