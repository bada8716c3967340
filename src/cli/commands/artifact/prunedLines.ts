import { describeArtifact } from '../../../domain/artifact/artifact.ts';
import type { Retention } from '../../../domain/artifact/retention.ts';
import { sizeText } from '../../ui/sizeText.ts';
import type { Style } from '../../ui/style.ts';
import { type Cell, tableLines } from '../../ui/table.ts';
import { agoText } from '../../ui/times.ts';

/** An artifact, and what became of it. */
export interface Pruned extends Retention {
  readonly state: 'kept' | 'removed' | 'would_go';
}

/** How many artifacts there are of each kind, and how large those are that went, or would. */
export interface PruneSum {
  readonly kept: number;
  readonly removed: number;
  readonly bytesFreed: number;
}

const WORDS = { kept: 'kept', removed: 'removed', would_go: 'would go' } as const;
const HEADINGS = ['ARTIFACT', 'SIZE', 'PUT', 'LAST RELEASED', 'STATE', 'WHY'] as const;

/**
 * Artifacts as a table: what goes first, then what is kept. `now` in milliseconds since 1970; `columns`: the window's
 * width.
 */
export function prunedLines(
  pruned: readonly Pruned[],
  now: number,
  columns: number,
  style: Style,
): readonly string[] {
  if (pruned.length === 0) return [];
  const rows = [...pruned.filter(goes), ...pruned.filter((one) => !goes(one))].map((one): Cell[] => {
    const { artifact, last, kept, state } = one;
    const { sizeBytes, putAt } = artifact;
    const [why = 'not needed', ...more] = kept;
    return [
      {
        text: describeArtifact({ kind: 'tarball', store: '', ...artifact }),
        paint: (text) => style.strong(text),
      },
      { text: sizeText(sizeBytes) },
      { text: agoText(putAt, now) },
      {
        text: last === null ? '-' : `${last.releaseId} on ${last.target}, ${agoText(last.endedAt, now)}`,
      },
      { text: WORDS[state], paint: (text) => (goes(one) ? style.warn(text) : text) },
      { text: more.length === 0 ? why : `${why}, and ${more.length} more` },
    ];
  });
  return tableLines(HEADINGS, rows, columns, (text) => style.faint(text));
}

/** Counts what was kept and what went. */
export function sumOf(pruned: readonly Pruned[]): PruneSum {
  const gone = pruned.filter(goes);
  return {
    kept: pruned.length - gone.length,
    removed: gone.length,
    bytesFreed: gone.reduce((sum, { artifact }) => sum + artifact.sizeBytes, 0),
  };
}

/** What was done in all, in one line. */
export function sumLine(pruned: readonly Pruned[], store: string, dryRun: boolean): string {
  const { kept, removed, bytesFreed } = sumOf(pruned);
  const went = dryRun ? 'would go' : 'removed';
  return `${removed} of ${removed + kept} artifacts ${went}, ${sizeText(bytesFreed)}: ${store}`;
}

function goes({ state }: Pruned): boolean {
  return state !== 'kept';
}
