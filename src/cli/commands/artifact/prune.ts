import pLimit from 'p-limit';

import { type ArtifactStore, readKeptChecks } from '../../../artifact/artifactStore.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { describeArtifact } from '../../../domain/artifact/artifact.ts';
import {
  type ArtifactUse,
  datasetUses,
  decideRetention,
  type RecordedRelease,
  type Retention,
  unaskedUses,
} from '../../../domain/artifact/retention.ts';
import { datasetDigests, ROWS_UNDER_WAY } from '../../../domain/check/dataset.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import type { ReleaseRecord } from '../../../domain/release/release.ts';
import { isRecord } from '../../../domain/scalars.ts';
import { IDENTITIES } from '../../../identity/proof.ts';
import { artifactUses } from '../../../temporal/client/artifact/artifactUses.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { agoText, type Cell, type Screen, sizeText, tableLines } from '../../ui/text.ts';
import { artifactStoreOf } from './artifactStoreOf.ts';

interface PruneOptions extends FileOptions {
  readonly dryRun?: boolean;
  /** Milliseconds. Default: the file's. */
  readonly olderThan?: number;
  /** Default: the file's. */
  readonly keep?: number;
  /** Targets that Temporal does not know: prune keeps nothing for them. */
  readonly forget?: readonly string[];
}

/**
 * `slipway prune`: removes old artifacts from the artifact store. It first asks every target, promotion, hook and schedule of
 * the namespace which artifacts it needs. If one does not answer, nothing is removed.
 */
export async function runPruneCommand(context: CommandContext, options: PruneOptions): Promise<void> {
  const { output } = context;
  const { dryRun = false } = options;
  const file = await loadConfig(options.config);
  const store = artifactStoreOf(file, context);
  const done: Pruned[] = [];
  try {
    for (const retention of await retentions(context, store, file.config.artifact.prune, options)) {
      const pruned = await prune(store, retention, dryRun);
      done.push(pruned);
      output.event({ event: 'pruned_artifact', ...eventOf(pruned) });
    }
  } finally {
    for (const line of prunedLines(done, output.screen())) output.print(line);
  }
  const unreadable: string[] = [];
  const proofs = await removeLeft(store, 'proofs', dryRun, unreadable);
  const rows = await removeLeft(store, 'rows', dryRun, unreadable);
  output.event({ event: 'pruned', store: store.url, dryRun, ...sumOf(done), unreadable, exitCode: 0 });
  output.print(sumLine(done, store.url, dryRun));
  if (proofs > 0)
    output.print(`${proofs} unused proofs of identity ${dryRun ? 'would be removed' : 'removed'}`);
  if (rows > 0)
    output.print(`${rows} results of canceled datasets ${dryRun ? 'would be removed' : 'removed'}`);
  for (const name of unreadable) output.warn(`the record ${name} cannot be read, and stays in the store`);
}

/** Records that processes left behind, and the age from which nothing needs them, in milliseconds. */
const LEFT = {
  /** Proofs of identity. A release may wait this long before the worker verifies its requester. */
  proofs: { prefix: IDENTITIES, keptMs: 7 * DAY_MS },
  /** Results of rows whose check was canceled. Asking all rows of a dataset may take this long. */
  rows: { prefix: ROWS_UNDER_WAY, keptMs: 30 * DAY_MS },
} as const;

/**
 * Removes old records that processes left behind.
 * @param unreadable - gets the names of those that cannot be read, and stay.
 * @returns how many.
 */
export async function removeLeft(
  store: ArtifactStore,
  what: keyof typeof LEFT,
  dryRun: boolean,
  unreadable: string[],
): Promise<number> {
  const { prefix, keptMs } = LEFT[what];
  let removed = 0;
  for (const name of await store.listRecords(prefix)) {
    const isUnreadable = onSlipwayError(() => void unreadable.push(name), 'SLIPWAY_RECORD_UNREADABLE');
    const record = await store.getRecord(name).catch(isUnreadable);
    if (!isRecord(record) || !(Date.parse(String(record['at'])) < Date.now() - keptMs)) continue;
    if (!dryRun) await store.removeRecord(name);
    removed += 1;
  }
  return removed;
}

async function retentions(
  context: CommandContext,
  store: ArtifactStore,
  declared: { readonly keep: number; readonly olderThan: number },
  { keep = declared.keep, olderThan = declared.olderThan, forget = [] }: PruneOptions,
): Promise<readonly Retention[]> {
  return withTemporal(context, async (temporal) => {
    const { uses, targets } = await artifactUses(temporal);
    const recorded = await recordedReleases(store);
    // Checks of a target with another record store are not in this one.
    const here = targets.filter((target) => target.store === store.url);
    const asked = new Set(here.map(({ workflowId }) => workflowId));
    const releases = recorded.filter(
      ({ target, targetId }) => asked.has(targetId) || !forget.includes(target),
    );
    const needed = [...uses, ...(await restorableDatasets(store, here)), ...unaskedUses(releases, asked)];
    const policy = { keep, olderThanMs: olderThan };
    return decideRetention(await store.listArtifacts(), needed, releases, policy, Date.now());
  });
}

/**
 * The datasets of checks under which revisions may be restored.
 * @throws SlipwayError SLIPWAY_RECORD_UNREADABLE: then it is not known which datasets are needed.
 */
export async function restorableDatasets(
  store: ArtifactStore,
  targets: readonly { readonly name: string; readonly checks: readonly string[] }[],
): Promise<readonly ArtifactUse[]> {
  const found = targets.map(async ({ name, checks }) => {
    const lists = await pLimit(AT_ONCE).map([...new Set(checks)], (digest) => readKeptChecks(store, digest));
    return datasetUses(datasetDigests(lists.flat()), `a revision of ${name} may be restored`);
  });
  return (await Promise.all(found)).flat();
}

async function prune(store: ArtifactStore, retention: Retention, dryRun: boolean): Promise<Pruned> {
  const { artifact, kept } = retention;
  if (kept.length > 0) return { ...retention, state: 'kept' };
  if (dryRun) return { ...retention, state: 'would_go' };
  if (await store.removeArtifact(artifact.digest, artifact.putAt)) return { ...retention, state: 'removed' };
  return { ...retention, kept: ['uploaded again meanwhile'], state: 'kept' };
}

function eventOf({ artifact: { digest, sizeBytes, putAt }, last, kept, state }: Pruned) {
  return { artifact: digest, sizeBytes, putAt, last, state, kept };
}

export interface Pruned extends Retention {
  readonly state: 'kept' | 'removed' | 'would_go';
}

const WORDS = { kept: 'kept', removed: 'removed', would_go: 'would be removed' } as const;
const HEADINGS = ['ARTIFACT', 'SIZE', 'PUT', 'LAST RELEASED', 'STATE', 'WHY'] as const;

/** Artifacts as a table: removed ones first, then those that are kept. */
export function prunedLines(pruned: readonly Pruned[], screen: Screen): readonly string[] {
  const { now, style } = screen;
  if (pruned.length === 0) return [];
  const rows = [...pruned.filter(goes), ...pruned.filter((one) => !goes(one))].map((one): Cell[] => {
    const { artifact, last, kept, state } = one;
    const { sizeBytes, putAt } = artifact;
    const [why = 'not needed', ...more] = kept;
    return [
      { text: describeArtifact({ kind: 'tarball', store: '', ...artifact }), paint: style.strong },
      sizeText(sizeBytes),
      agoText(putAt, now),
      last === null ? '-' : `${last.releaseId} on ${last.target}, ${agoText(last.endedAt, now)}`,
      goes(one) ? { text: WORDS[state], paint: style.warn } : WORDS[state],
      more.length === 0 ? why : `${why}, and ${more.length} more`,
    ];
  });
  return tableLines(HEADINGS, rows, screen);
}

export function sumOf(pruned: readonly Pruned[]): Pick<EventOf<'pruned'>, 'kept' | 'removed' | 'bytesFreed'> {
  const gone = pruned.filter(goes);
  return {
    kept: pruned.length - gone.length,
    removed: gone.length,
    bytesFreed: gone.reduce((sum, { artifact }) => sum + artifact.sizeBytes, 0),
  };
}

export function sumLine(pruned: readonly Pruned[], store: string, dryRun: boolean): string {
  const { kept, removed, bytesFreed } = sumOf(pruned);
  const went = dryRun ? 'would be removed' : 'removed';
  return `${removed} of ${removed + kept} artifacts ${went}, ${sizeText(bytesFreed)}: ${store}`;
}

function goes({ state }: Pruned): boolean {
  return state !== 'kept';
}

const AT_ONCE = 16;
/** `TARGET/TIME-RELEASE.json`: no other kind of record has such a name. */
const OF_A_RELEASE = /^[A-Za-z0-9][^/]*\/[^/]+\.json$/;

/**
 * The releases of tarballs in a store's records, in no particular order.
 * @throws SlipwayError SLIPWAY_RECORD_UNREADABLE: an unreadable record may name an artifact that must be kept.
 */
export async function recordedReleases(store: ArtifactStore): Promise<readonly RecordedRelease[]> {
  const names = (await store.listRecords()).filter((name) => OF_A_RELEASE.test(name));
  return (await pLimit(AT_ONCE).map(names, (name) => readRelease(store, name))).flat();
}

/** Empty for a record that is removed, or has no tarball. */
async function readRelease(store: ArtifactStore, name: string): Promise<readonly RecordedRelease[]> {
  const record = await store.getRecord(name);
  if (record === undefined) return [];
  const fields = (record ?? {}) as AnyRecord;
  const { target, releaseId, workflowId, artifact, outcome, endedAt, verdicts = [] } = fields;
  if (artifact === null) return [];
  const named = [target, releaseId, workflowId, artifact, outcome, endedAt];
  if (!named.every((field) => typeof field === 'string')) {
    throw new SlipwayError('SLIPWAY_RECORD_UNREADABLE', `the record ${name} is not the record of a release`, {
      place: store.url,
      hint: 'Restore the file from a backup, or move it out of the store.',
    });
  }
  const datasets = [...new Set(verdicts.flatMap(({ dataset }) => dataset?.digest ?? []))];
  if (!artifact.startsWith('sha256:') && datasets.length === 0) return [];
  const targetId = workflowId.slice(0, -`/${releaseId}`.length);
  return [{ target, targetId, releaseId, artifact, datasets, released: outcome === 'released', endedAt }];
}

/** Other versions of Slipway may have written it without verdicts. */
type AnyRecord = Omit<ReleaseRecord, 'verdicts'> & Partial<Pick<ReleaseRecord, 'verdicts'>>;
