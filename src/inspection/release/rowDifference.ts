import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import type { DatasetResults, DatasetVerdict, RowResult } from '../../domain/check/dataset.ts';
import type { FoundRelease } from './findRelease.ts';

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

/** A row that changed sides, as the second release has it. */
type ChangedRow = Pick<RowResult, 'id' | 'line' | 'reasons'>;

/**
 * The rows of datasets that changed sides between two releases, by check. Checks without kept results in both are left out.
 * Each release's last verdict on a revision that it made counts.
 */
export async function rowDifferences(
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
