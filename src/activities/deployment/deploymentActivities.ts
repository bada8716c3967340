import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';

import { isNewestFirst, momentOf } from '../../clients/controlPlane.ts';
import { hasMoved, isDeploymentGone, notOffered, ServiceError } from '../../clients/serviceError.ts';
import { secretFor } from '../../config/secretOrigins.ts';
import type { Artifact } from '../../domain/artifact/artifact.ts';
import { artifactFields, patchedFields } from '../../domain/deployment/patchedFields.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { SlipwayError, withHint } from '../../domain/errors.ts';
import { PARKED_RESOURCES } from '../../domain/preview/preview.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { Activities } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { callOptions } from '../callOptions.ts';
import type { Outside } from '../connections.ts';
import { noteProgress } from '../heartbeat.ts';
import type { Untracked } from '../track.ts';
import { type Deployment, deploymentSnapshot, type Revision, revisionSnapshot } from './snapshots.ts';

/** The size of the newest page, and the most revisions to read back to an earlier one. */
const NEWEST_PAGE = 50;
const REVISIONS_MAX = 2_000;

/** Each is one call to the control plane (contract 000, "Endpoints"). */
export function deploymentActivities(outside: Outside) {
  return {
    async findDeployment({ target }) {
      const client = outside.controlPlane(target);
      const { deploymentId: id, deployment: name } = target;
      try {
        if (id !== undefined) return await snapshotOf(client.getDeployment(id, callOptions()));
        const found = await client.deploymentNamed(name, callOptions());
        return { deployment: found === undefined ? null : deploymentSnapshot(found) };
      } catch (error) {
        if (hasMoved(error)) throw controlPlaneMoved(target, error);
        throw id === undefined && notOffered(error) ? noListOfDeployments(target) : error;
      }
    },

    // Decision: creating a deployment from a git ref or an image builds and deploys a revision at once. The release's
    // own revision is still the one of its PATCH, so the first release builds the ref twice. This way, unknown
    // answers, checks and restores have only one kind of revision to handle.
    async createDeployment({ target, artifact, graphConfigPath }) {
      await requireArtifact(outside, artifact);
      const body = {
        name: target.deployment,
        source: target.source,
        source_config: target.sourceConfig,
        source_revision_config: { graph_config_path: graphConfigPath, ...artifactFields(artifact, null) },
        secrets: resolveSecrets(target) ?? [],
      };
      const options = { ...callOptions(), idempotencyKey: releaseKey() };
      return snapshotOf(outside.controlPlane(target).createDeployment(body, options));
    },

    async readDeployment({ target, deploymentId }) {
      return snapshotOf(outside.controlPlane(target).getDeployment(deploymentId, callOptions()));
    },

    async readRevision({ target, deploymentId, revisionId, isNew }) {
      const client = outside.controlPlane(target);
      const read = () => client.getRevision(deploymentId, revisionId, callOptions());
      return { revision: revisionSnapshot(isNew ? await despiteReadLag(read) : await read()) };
    },

    async listRevisions({ target, deploymentId, since }) {
      const client = outside.controlPlane(target);
      try {
        if (since === undefined) {
          const query = { limit: NEWEST_PAGE };
          const { resources } = await client.listRevisions(deploymentId, query, callOptions());
          return { revisions: isNewestFirst(resources) ? resources.map(revisionSnapshot) : null };
        }
        const newer: Revision[] = [];
        /** The earlier revision, and the one before it. */
        const older: Revision[] = [];
        for await (const revision of client.eachRevision(deploymentId, callOptions())) {
          const [last] = older;
          // A newer one of the same moment may be listed after the earlier one.
          const isNewer = last === undefined ? revision.id !== since : momentOf(revision) === momentOf(last);
          (isNewer ? newer : older).push(revision);
          const mayFollow = newer.every((other) => momentOf(other) === momentOf(revision));
          if (older.length === (mayFollow ? 2 : 1)) break;
          if (newer.length > REVISIONS_MAX) return { revisions: null };
        }
        return { revisions: isNewestFirst([...newer, ...older]) ? newer.map(revisionSnapshot) : null };
      } catch (error) {
        if (notOffered(error)) return { revisions: null };
        throw error;
      }
    },

    async patchDeployment({ target, deploymentId, artifact, objectPath, graphConfigPath, runId }) {
      if (runId !== undefined && runId !== Context.current().info.workflowExecution?.runId)
        throw new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', 'the run before a reset may have sent the PATCH');
      const secrets = resolveSecrets(target);
      const body = { ...patchedFields({ target, artifact, objectPath, graphConfigPath }), secrets };
      return snapshotOf(outside.controlPlane(target).patchDeployment(deploymentId, body, callOptions()));
    },

    async redeployRevision({ target, deploymentId, revisionId }) {
      const client = outside.controlPlane(target);
      return snapshotOf(client.redeployRevision(deploymentId, revisionId, callOptions()));
    },

    async deleteDeployment({ target, deploymentId }) {
      const client = outside.controlPlane(target);
      try {
        // A new deployment of the same name would be refused for the tracing project of the old one.
        await client.deleteDeployment(deploymentId, { delete_tracing_project: true }, callOptions());
        return { offered: true };
      } catch (error) {
        if (!notOffered(error)) throw error;
        return { offered: isDeploymentGone(error, deploymentId) };
      }
    },

    async parkDeployment({ target, deploymentId }) {
      const body = { source_config: { resource_spec: PARKED_RESOURCES } };
      await outside.controlPlane(target).patchDeployment(deploymentId, body, callOptions());
      return {};
    },
  } satisfies Partial<Untracked<Activities>>;
}

async function snapshotOf(answer: Promise<Deployment>): Promise<{ readonly deployment: DeploymentSnapshot }> {
  return { deployment: deploymentSnapshot(await answer) };
}

/**
 * An idempotency key that is the same for all attempts of a release, and different for other releases. If the control
 * plane supports `Idempotency-Key`, an unanswered request is safe to repeat.
 */
function releaseKey(): string | undefined {
  const { workflowExecution: release } = Context.current().info;
  if (release === undefined) return undefined;
  // A digest, because a workflow id may be longer than a key, or contain characters that a header must not.
  return createHash('sha256')
    .update(JSON.stringify([release.workflowId, release.runId]))
    .digest('hex');
}

function resolveSecrets(target: TargetSpec): { name: string; value: string }[] | undefined {
  return target.secrets?.map(({ name, from }) => ({ name, value: secretFor({ from }, target.controlPlane) }));
}

/**
 * The first call of a release finds an address that is wrong for good, so it is not retried. Later calls are: giving
 * up on them would end a restore early.
 */
function controlPlaneMoved({ name, controlPlane }: TargetSpec, { message }: ServiceError): SlipwayError {
  return new SlipwayError('SLIPWAY_CONFIG_INVALID', `${controlPlane} has moved: ${message}`, {
    hint: `set targets.${name}.controlPlane to the address that it redirects to; curl -i ${controlPlane} shows it`,
  });
}

function noListOfDeployments(target: TargetSpec): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_NOT_FOUND',
    `${target.controlPlane} offers no list of deployments, so "${target.deployment}" cannot be found by name`,
    {
      hint: `check targets.${target.name}.controlPlane; if it is right, create the deployment once and set targets.${target.name}.deploymentId`,
    },
  );
}

/**
 * Checks that the artifact exists, so that no empty deployment is created without one.
 * @throws SlipwayError SLIPWAY_ARTIFACT_NOT_FOUND, SLIPWAY_ARTIFACT_STORE_….
 */
async function requireArtifact(outside: Outside, artifact: Artifact): Promise<void> {
  if (artifact.kind !== 'tarball') return;
  const { stream } = await outside.openStore(artifact.store).open(artifact.digest);
  stream.destroy();
}

/** Streams the artifact from the store to the control plane. */
export function uploadActivities(outside: Outside): Untracked<Pick<Activities, 'uploadArtifact'>> {
  return {
    async uploadArtifact({ target, deploymentId, artifact }) {
      const context = Context.current();
      const store = outside.openStore(artifact.store);
      // Detect a damaged artifact before sending anything.
      await store.verify(artifact.digest);
      const client = outside.controlPlane(target);
      const upload = await despiteReadLag(() => client.createUploadUrl(deploymentId, callOptions()));
      const { stream, sizeBytes } = await store.open(artifact.digest);
      try {
        await client.uploadArtifact(
          {
            upload,
            source: () => stream,
            sizeBytes,
            onProgress: (sentBytes) => noteProgress(`sent ${sentBytes} of ${artifact.sizeBytes} bytes`),
          },
          { signal: context.cancellationSignal },
        );
      } catch (error) {
        throw despiteRefusedUrl(error);
      } finally {
        // An upload that ended before it read the stream would leave the file open.
        stream.destroy();
      }
      return { objectPath: upload.object_path };
    },
  };
}

/** With so many signed URLs, an upload is tried. */
const URLS_MAX = 3;

/**
 * The failure of an upload. An object store answers 403 or another 4xx if the signed URL has expired: the worker, or its
 * machine, was paused in between. The next attempt has a fresh URL. A URL that is refused again and again does not fit the
 * store's settings or clock.
 */
function despiteRefusedUrl(error: unknown): unknown {
  if (!(error instanceof ServiceError) || Context.current().info.attempt >= URLS_MAX) return error;
  const { status = 0 } = error;
  const isRefused = status >= 400 && status < 500 && status !== TOO_LARGE;
  return isRefused ? notYet(error.code, withHint(error), RETRY_MS) : error;
}

const TOO_LARGE = 413;

/** How long the reads of a control plane may lag behind its own answers, in milliseconds. */
const LAG_MS = 10_000;
const RETRY_MS = 1_000;

/** Makes a call about something new. A replica may not know it yet: in a step's first 10 s, a 404 is "not yet". */
export async function despiteReadLag<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs: due } = Context.current().info;
    const isYoung = due < scheduledTimestampMs + LAG_MS;
    if (!(error instanceof ServiceError && error.status === 404 && isYoung)) throw error;
    throw notYet(error.code, error.message, RETRY_MS);
  }
}
