import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { type NamedTarget, releaseRecords } from '../../artifact/releaseRecords.ts';
import type { ActivityFact } from '../../domain/audit/facts.ts';
import type { RunningCall } from '../../domain/heartbeat.ts';
import { type PastRelease, pastOfResult, pastOfWork } from '../../domain/release/pastRelease.ts';
import type {
  CheckVerdict,
  Progress,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
} from '../../domain/release/release.ts';
import { releaseUnknown } from '../../temporal/client/ask.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { findWork, pastReleases, readRunningCall } from '../../temporal/client/release/pastReleases.ts';
import { readProgress } from '../../temporal/client/target/targetClient.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { noAnswerCall } from '../../temporal/client/workerPresence.ts';

/** The word for a target's newest release. */
export const LATEST = 'latest';

export interface FoundRelease {
  readonly target: string;
  readonly past: PastRelease;
  /** Its result; `null` if it has not ended or only its row is left. */
  readonly result: ReleaseResult | null;
  /** Its progress; `null` if it has ended or no worker answers. */
  readonly progress: Progress | null;
  /** What the running step found last, or that no worker can continue it; `null` if neither is known. */
  readonly call: RunningCall | null;
  readonly calls: readonly ActivityFact[];
  /** The request; `null` if Temporal no longer has it. */
  readonly request: ReleaseRequest | RollbackRequest | null;
  readonly workflowUrl: string | null;
  /** Where it was found: Temporal, its record in the artifact store, or the target's own history. */
  readonly from: 'temporal' | 'record' | 'target';
}

/**
 * Finds a release or a rollback of a target: in Temporal, else among the records, which outlive Temporal's retention,
 * else in the target's history, which also has releases that never started. The target need not answer.
 * @param store - the store with its record; absent if not known.
 * @param wanted - its id, or `latest`.
 * @throws SlipwayError SLIPWAY_RELEASE_UNKNOWN, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function findRelease(
  temporal: TemporalConnection,
  store: ArtifactStore | undefined,
  named: NamedTarget,
  wanted: string,
): Promise<FoundRelease> {
  const { name: target, workflowId: targetId } = named;
  const past = wanted === LATEST ? await pastReleases(temporal, targetId) : undefined;
  const releaseId = wanted === LATEST ? past?.releases[0]?.releaseId : wanted;
  if (releaseId !== undefined) {
    const kept = await keptByTemporal(temporal, target, `${targetId}/${releaseId}`);
    if (kept !== undefined) return kept;
  }
  const { releases = [] } = past ?? (await pastReleases(temporal, targetId)) ?? {};
  const row = releases.find((release) => release.releaseId === releaseId);
  const record = store === undefined ? undefined : await recordOf(store, named, releaseId, row);
  if (record !== undefined) return { ...BARE, target, past: pastOfResult(record), result: record };
  if (row !== undefined) return { ...BARE, target, past: row, from: 'target' };
  const known =
    releases.length > 0 || store === undefined ? releases : await recordedReleases(store, named, NAMED);
  throw releaseUnknown(
    target,
    wanted,
    known.map((release) => release.releaseId),
  );
}

const NAMED = 5;

const BARE = {
  result: null,
  progress: null,
  call: null,
  calls: [],
  request: null,
  workflowUrl: null,
  from: 'record',
} as const;

async function keptByTemporal(
  temporal: TemporalConnection,
  target: string,
  workflowId: string,
): Promise<FoundRelease | undefined> {
  const work = await findWork(temporal, workflowId);
  if (work === undefined) return undefined;
  const runs = work.ended === 'running';
  const progress = runs ? await readProgress(temporal, workflowId) : undefined;
  const silence = runs && progress === undefined ? await noAnswerCall(temporal, workflowId) : null;
  const call = silence ?? (runs ? await readRunningCall(temporal, workflowId) : undefined);
  return {
    target,
    past: pastOfWork(work),
    result: work.result,
    progress: progress ?? null,
    call: call ?? progress?.found ?? null,
    calls: runs ? work.activities : [],
    request: work.request,
    workflowUrl: workflowPage(temporal.settings, workflowId),
    from: 'temporal',
  };
}

/**
 * A release's record in the store; without an id, the newest.
 * @param row - its row, if known. The store may have a record of the same release of this target from before Temporal
 * lost its data.
 */
export async function recordOf(
  store: ArtifactStore,
  named: NamedTarget,
  releaseId: string | undefined,
  row?: Pick<PastRelease, 'startedAt'>,
): Promise<ReleaseResult | undefined> {
  for await (const result of releaseRecords(store, named, releaseId))
    if (row === undefined || result.startedAt === row.startedAt) return result;
  return undefined;
}

/** The newest releases and rollbacks of which the store has records, newest first. */
export async function recordedReleases(
  store: ArtifactStore,
  named: NamedTarget,
  last: number,
): Promise<readonly PastRelease[]> {
  const releases: PastRelease[] = [];
  for await (const record of releaseRecords(store, named)) {
    if (releases.length === last) break;
    releases.push(pastOfResult(record));
  }
  return releases;
}

/** The answers that were too long for their verdicts, by record name, if the store has them. */
export async function wholeAnswers(
  store: ArtifactStore,
  verdicts: readonly CheckVerdict[],
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { answerRecord } of verdicts) {
    if (answerRecord === undefined || answers.has(answerRecord)) continue;
    const answer = await store.getRecord(answerRecord);
    if (typeof answer === 'string') answers.set(answerRecord, answer);
  }
  return answers;
}
