import { type ArtifactStore, readKeptChecks } from '../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import type { Check } from '../../domain/check/check.ts';
import { onSlipwayError } from '../../domain/errors.ts';
import type { FieldDifference } from '../../domain/release/fieldDifferences.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { failedRevisionLines } from '../../inspection/deployment/revisionLog.ts';
import { findRelease, type FoundRelease, wholeAnswers } from '../../inspection/release/findRelease.ts';
import { configurationDifference } from '../../inspection/release/releaseDifference.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import type { PageContext } from '../pageContext.ts';

export interface ChangedSince {
  readonly before: FoundRelease;
  /** The changed fields of the configuration; a sentence if they are not known. */
  readonly configuration: readonly FieldDifference[] | string;
}

export interface ReleaseStory {
  readonly found: FoundRelease;
  readonly snapshot: TargetSnapshot;
  /** The checks of its request, or those that the restored revision had passed; none if not known. */
  readonly checks: readonly Check[];
  /** Complete answers, by the names of their records. */
  readonly answers: ReadonlyMap<string, string>;
  /** The end of a failed revision's log; a sentence if it cannot be read. `null`: no revision failed. */
  readonly failedLog: readonly string[] | string | null;
  /** `null`: there was no previous release. */
  readonly changed: ChangedSince | null;
}

const LOG_LINES = 200;

/** Reads the story of a release from Temporal, else from its record, else from the target's own row. */
export async function readStory(
  context: PageContext,
  snapshot: TargetSnapshot,
  releaseId: string,
): Promise<ReleaseStory> {
  const { temporal } = context;
  const { workflowId, name, view } = snapshot;
  const store = storeOf(snapshot);
  const found = await findRelease(temporal, store, { name, workflowId }, releaseId);
  const { result, progress } = found;
  const verdicts = (result ?? progress)?.verdicts ?? [];
  const spec = view?.state.spec ?? null;
  const [checks, answers, failedLog, changed] = await Promise.all([
    checksOf(found, snapshot, store),
    store === undefined ? new Map<string, string>() : wholeAnswers(store, verdicts),
    spec === null ? null : failedLogOf(context, spec, found),
    changedSince(context, snapshot, found, store),
  ]);
  return { found, snapshot, checks, answers, failedLog, changed };
}

/** The store of a target's records; `undefined` while it is not known. */
export function storeOf({ view }: TargetSnapshot): ArtifactStore | undefined {
  const place = view?.state.lastRequest?.recordStore;
  return place === undefined ? undefined : openArtifactStore(place);
}

export function releaseBefore({ view }: TargetSnapshot, releaseId: string): string | undefined {
  const history = view?.state.history ?? [];
  const index = history.findIndex((row) => row.releaseId === releaseId);
  const earlier = index === -1 ? history : history.slice(0, index);
  return earlier.findLast(({ kind, outcome }) => kind === 'release' && outcome === 'released')?.releaseId;
}

async function checksOf(
  { request, result }: FoundRelease,
  { view }: TargetSnapshot,
  store: ArtifactStore | undefined,
): Promise<readonly Check[]> {
  const own = request !== null && 'checks' in request ? request.checks : [];
  const known = [...(result?.knownRevisions ?? []), ...(view?.state.known ?? [])];
  const restored = known.find(({ revisionId }) => revisionId === result?.servingRevisionId)?.checks;
  if (restored === undefined || store === undefined) return own;
  const kept = await readKeptChecks(store, restored).catch(onSlipwayError(() => []));
  return [...own, ...kept.filter(({ name }) => !own.some((other) => other.name === name))];
}

async function failedLogOf(
  context: PageContext,
  spec: TargetSpec,
  { result }: FoundRelease,
): Promise<ReleaseStory['failedLog']> {
  if (result === null) return null;
  const lines = await failedRevisionLines(context, spec, result, LOG_LINES).catch(
    onSlipwayError(({ message }) => message),
  );
  if (typeof lines === 'string') return lines;
  return lines?.map(({ stage, message }) => `${stage.padEnd(6)} ${message}`) ?? null;
}

async function changedSince(
  { temporal }: PageContext,
  snapshot: TargetSnapshot,
  found: FoundRelease,
  store: ArtifactStore | undefined,
): Promise<ChangedSince | null> {
  if (found.past.kind !== 'release') return null;
  const earlier = releaseBefore(snapshot, found.past.releaseId);
  if (earlier === undefined) return null;
  const before = await findRelease(temporal, store, snapshot, earlier).catch(
    onSlipwayError(() => null, 'SLIPWAY_RELEASE_UNKNOWN'),
  );
  return before && { before, configuration: configurationDifference(before, found) };
}
