import { pick } from '@slipway/contract/pick';

import { artifactFiles, filesDifference, type FilesDifference } from '../../artifact/artifactFiles.ts';
import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { isDigest } from '../../artifact/digest.ts';
import type { DatasetResults, DatasetVerdict, RowResult } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { type FieldDifference, fieldDifferences } from '../../domain/release/fieldDifferences.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { FoundRelease } from './findRelease.ts';

export interface ReleaseDifference {
  readonly from: FoundRelease;
  readonly to: FoundRelease;
  /** The fields of their configuration; a sentence if they are not known. */
  readonly configuration: readonly FieldDifference[] | string;
  /** The files of their artifacts; a sentence if they are not known. */
  readonly files: FilesDifference | string;
  /** The rows of datasets that changed sides, by check. */
  readonly rows: readonly RowDifference[];
}

/**
 * Compares two releases: their requests' configuration, and the files of their artifacts.
 * @throws SlipwayError SLIPWAY_ARTIFACT_CORRUPT.
 */
export async function releaseDifference(
  store: ArtifactStore,
  from: FoundRelease,
  to: FoundRelease,
): Promise<ReleaseDifference> {
  return {
    from,
    to,
    configuration: configurationDifference(from, to),
    files: await filesOf(store, from, to),
    rows: await rowDifferences(store, from, to),
  };
}

/** The fields in which the configurations of two releases differ; a sentence if they are not known. */
export function configurationDifference(
  from: FoundRelease,
  to: FoundRelease,
): ReleaseDifference['configuration'] {
  const [one, other] = [configured(from), configured(to)];
  if (typeof one === 'string') return one;
  if (typeof other === 'string') return other;
  return fieldDifferences(one, other);
}

/** The configuration in a request; a sentence if there is none. */
function configured({ request, past }: FoundRelease): Partial<ReleaseRequest> | string {
  if (request === null) return `${past.releaseId}: Temporal no longer keeps its request`;
  if (!('artifact' in request)) return `${past.releaseId}: a rollback has no configuration of its own`;
  const checked = ['checks', 'checksBudget', 'guard'] as const;
  const how = ['steps', 'soakMs', 'queue', 'onError', 'pauseMs', 'approval', 'freezes', 'notify'] as const;
  return pick(request, 'target', 'graphConfigPath', ...checked, ...how);
}

async function filesOf(
  store: ArtifactStore,
  from: FoundRelease,
  to: FoundRelease,
): Promise<ReleaseDifference['files']> {
  const listed = [];
  for (const { past } of [from, to]) {
    if (past.artifact?.startsWith('sha256:') !== true)
      return `${past.releaseId}: its artifact is not a tarball`;
    try {
      listed.push(await artifactFiles(await store.open(await wholeDigest(store, past.artifact))));
    } catch (error) {
      if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_ARTIFACT_NOT_FOUND') throw error;
      return `${past.releaseId}: its artifact is not in this artifact store`;
    }
  }
  const [one = new Map(), other = new Map()] = listed;
  return filesDifference(one, other);
}

/** Completes a shortened digest with the artifacts in the store; unchanged if that is not unique. */
async function wholeDigest(store: ArtifactStore, named: string): Promise<string> {
  if (isDigest(named)) return named;
  const held = await store.listArtifacts();
  const [only, ...others] = held.filter(({ digest }) => digest.startsWith(named));
  return only === undefined || others.length > 0 ? named : only.digest;
}

/** How the rows of a check's dataset differ between two releases. */
export interface RowDifference {
  readonly check: string;
  readonly from: DatasetVerdict;
  readonly to: DatasetVerdict;
  /** Rows that failed in the first and passed in the second. */
  readonly fixed: readonly ChangedRow[];
  /** Rows that passed in the first and failed in the second. */
  readonly broken: readonly ChangedRow[];
  /** How many rows only one of them has a result of: another sample, another dataset, or not asked. */
  readonly onlyFrom: number;
  readonly onlyTo: number;
}

type ChangedRow = Pick<RowResult, 'id' | 'line' | 'reasons'>;

/**
 * The rows of datasets that changed sides between two releases, by check. Checks without kept results in both are left out.
 * Each release's last verdict on a revision that it made counts.
 */
async function rowDifferences(
  store: Pick<ArtifactStore, 'getRecord'>,
  from: FoundRelease,
  to: FoundRelease,
): Promise<readonly RowDifference[]> {
  const differences: RowDifference[] = [];
  const before = datasetsOf(from);
  for (const [check, now] of datasetsOf(to)) {
    const then = before.get(check);
    if (then === undefined) continue;
    const [one, other] = [await rowsOf(store, then), await rowsOf(store, now)];
    if (one === undefined || other === undefined) continue;
    const both = [...other.values()].filter(({ id }) => one.has(id));
    const turned = (passes: boolean) =>
      both
        .filter(({ id, passed }) => passed === passes && one.get(id)?.passed !== passes)
        .map(({ id, line, reasons }) => ({ id, line, reasons }));
    differences.push({
      check,
      from: then,
      to: now,
      fixed: turned(true),
      broken: turned(false),
      onlyFrom: one.size - both.length,
      onlyTo: other.size - both.length,
    });
  }
  return differences;
}

function datasetsOf({ result, progress }: FoundRelease): ReadonlyMap<string, DatasetVerdict> {
  const verdicts = (result ?? progress)?.verdicts ?? [];
  const own = result?.revisionId ?? null;
  return new Map(
    verdicts.flatMap(({ check, dataset, revisionId }) =>
      dataset === undefined || (own !== null && revisionId !== own) ? [] : [[check, dataset] as const],
    ),
  );
}

async function rowsOf(
  store: Pick<ArtifactStore, 'getRecord'>,
  { results }: DatasetVerdict,
): Promise<ReadonlyMap<string, RowResult> | undefined> {
  const record = results === undefined ? undefined : await store.getRecord(results);
  return record === undefined
    ? undefined
    : new Map((record as DatasetResults).rows.map((row) => [row.id, row]));
}
