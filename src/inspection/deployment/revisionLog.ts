import { withOffset } from '@slipway/contract/moment';

import type { ControlPlaneClient } from '../../clients/controlPlane.ts';
import { removeSecrets } from '../../clients/removeSecrets.ts';
import type { CallOptions } from '../../clients/exchange.ts';
import { ServiceError } from '../../clients/serviceError.ts';
import { knownSecrets } from '../../config/secretReference.ts';
import { isRevisionId } from '../../domain/deployment/revisionName.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import type { Progress, ReleaseResult } from '../../domain/release/release.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { type Machine, withControlPlane } from './deploymentAccess.ts';

/** The part of a revision's life that a line is from: its build or its agent. */
export type LogStage = 'build' | 'deploy';

export interface LogLine {
  readonly stage: string;
  readonly message: string;
  /** ISO 8601; `null` if the control plane sends none, or one that cannot be read. */
  readonly timestamp: string | null;
}

export interface RevisionOf {
  readonly deploymentId: string;
  readonly revisionId: string;
}

interface LogEnd {
  /** Oldest first. */
  readonly lines: readonly LogLine[];
  /** The line after which a follower continues; `undefined` if the log cannot be followed. */
  readonly after: { readonly offset: string | undefined } | undefined;
}

const PAGE_LINES = 1_000;
const REVISIONS_SHOWN = 5;

/**
 * The last lines of a revision's log, of one stage or both. If a control plane has no revision logs (the contract has
 * none), the build and agent logs of the public API are read.
 * @throws SlipwayError SLIPWAY_NOT_FOUND if it has neither, or no such revision.
 */
export async function logEnd(
  client: ControlPlaneClient,
  revision: RevisionOf,
  stage: LogStage | undefined,
  count: number,
  call: CallOptions = {},
): Promise<LogEnd> {
  try {
    return await newestLines(client, revision, stage, count, call);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  try {
    await client.getRevision(revision.deploymentId, revision.revisionId, call);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { deploymentId, revisionId } = revision;
    throw revisionUnknown(deploymentId, revisionId, await newestIds(client, deploymentId));
  }
  try {
    return { lines: await publicLines(client, revision, stage, count, call), after: undefined };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const what = 'this control plane serves no logs';
    const hint = 'read them in the control plane’s own interface';
    throw new SlipwayError('SLIPWAY_NOT_FOUND', what, { place: revision.revisionId, hint, cause: error });
  }
}

/**
 * The revision that a person means, by its id or the beginning of its id.
 * @throws SlipwayError SLIPWAY_NOT_FOUND if no revision of the deployment or several begin like that.
 */
export async function revisionMeant(
  client: ControlPlaneClient,
  deploymentId: string,
  named: string,
): Promise<string> {
  const beginning = named.toLowerCase();
  if (isRevisionId(beginning)) return beginning;
  const ids: string[] = [];
  for await (const { id } of client.eachRevision(deploymentId)) ids.push(id);
  const [meant, ...others] = ids.filter((id) => id.startsWith(beginning));
  if (meant !== undefined && others.length === 0) return meant;
  throw meant === undefined
    ? revisionUnknown(deploymentId, named, ids)
    : notFound(deploymentId, `several revisions of the deployment begin with "${named}"`, ids);
}

function revisionUnknown(deploymentId: string, named: string, known: readonly string[]): SlipwayError {
  return notFound(deploymentId, `the deployment has no revision "${named}"`, known);
}

function notFound(deploymentId: string, message: string, known: readonly string[]): SlipwayError {
  const hint = `its newest ones: ${known.slice(0, REVISIONS_SHOWN).join(', ')}`;
  return new SlipwayError('SLIPWAY_NOT_FOUND', message, { place: deploymentId, hint });
}

async function newestIds(client: ControlPlaneClient, deploymentId: string): Promise<readonly string[]> {
  const known: string[] = [];
  for await (const { id } of client.eachRevision(deploymentId)) {
    known.push(id);
    if (known.length === REVISIONS_SHOWN) break;
  }
  return known;
}

async function newestLines(
  client: ControlPlaneClient,
  { deploymentId, revisionId }: RevisionOf,
  stage: LogStage | undefined,
  count: number,
  call: CallOptions,
): Promise<LogEnd> {
  const newest: (LogLine & { readonly id: string })[] = [];
  for (let offset: string | undefined; newest.length < count;) {
    const query = {
      order: 'desc',
      limit: Math.min(count - newest.length, PAGE_LINES),
      stage,
      offset,
    } as const;
    const page = await client.getRevisionLogs(deploymentId, revisionId, query, call);
    const { logs, next_offset: next } = page;
    newest.push(...logs);
    if (next === null || logs.length === 0) break;
    offset = next;
  }
  return { lines: newest.map(lineOf).reverse(), after: { offset: newest[0]?.id } };
}

async function publicLines(
  client: ControlPlaneClient,
  { deploymentId, revisionId }: RevisionOf,
  stage: LogStage | undefined,
  count: number,
  call: CallOptions,
): Promise<readonly LogLine[]> {
  const body = { order: 'desc', limit: Math.min(count, PAGE_LINES) } as const;
  const lines: LogLine[] = [];
  for (const part of stage === undefined ? (['build', 'deploy'] as const) : [stage]) {
    const { logs } =
      part === 'build'
        ? await client.getBuildLogs(deploymentId, revisionId, body, call)
        : await client.getDeployLogs(deploymentId, revisionId, body, call);
    lines.push(
      ...logs.map(({ message, timestamp = null }) => lineOf({ stage: part, message, timestamp })).reverse(),
    );
  }
  return lines.slice(-count);
}

/** A line to print, without the control plane's other fields. */
export function lineOf({ stage, message, timestamp }: LogLine): LogLine {
  const moment = withOffset(timestamp ?? '');
  return { stage, message, timestamp: Number.isNaN(Date.parse(moment)) ? null : moment };
}

function isNotFound(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  // For an invalid id, the control plane answers 422, or the client does not send the request.
  return error.status === undefined
    ? error.code === 'SLIPWAY_REFUSED'
    : [404, 405, 422].includes(error.status);
}

const BUILD_LINES = 5;

/** The newest lines of the build that a release waits for, as {@link readLogEnd} reads them. */
export async function newestBuildLines(
  machine: Machine,
  spec: TargetSpec,
  { steps, deploymentId, revisionId }: Progress,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  // A restore follows a revision other than the release's own.
  const waits = steps.some(
    ({ step, status, restoring }) => step === 'deployed' && status === 'running' && !restoring,
  );
  if (!waits || deploymentId === null || revisionId === null) return [];
  const revision = { deploymentId, revisionId };
  const read = readLogEnd(machine, spec, revision, 'build', BUILD_LINES, { signal });
  // The waiting step reports whether the control plane answers.
  const lines = await read.catch(onSlipwayError(() => []));
  return lines.map(({ message }) => message);
}

/** The end of a failed revision's log, as {@link readLogEnd} reads it; `undefined` if no revision failed. */
export async function failedRevisionLines(
  machine: Machine,
  spec: TargetSpec,
  { code, deploymentId, revisionId }: Pick<ReleaseResult, 'code' | 'deploymentId' | 'revisionId'>,
  count: number,
): Promise<readonly LogLine[] | undefined> {
  if (code !== 'SLIPWAY_REVISION_FAILED' || deploymentId === null || revisionId === null) return undefined;
  return readLogEnd(machine, spec, { deploymentId, revisionId }, undefined, count);
}

/** The {@link logEnd} of a target's revision, without the secrets that this process knows: a build may log them. */
async function readLogEnd(
  machine: Machine,
  spec: TargetSpec,
  revision: RevisionOf,
  stage: LogStage | undefined,
  count: number,
  call?: CallOptions,
): Promise<readonly LogLine[]> {
  const { lines } = await withControlPlane(machine, spec, (client) =>
    logEnd(client, revision, stage, count, call),
  );
  const secrets = knownSecrets(spec, machine.environment);
  return lines.map((line) => ({ ...line, message: removeSecrets(line.message, secrets) }));
}
