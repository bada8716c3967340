import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { decideRetention, type Retention, unaskedUses } from '../../../domain/artifact/retention.ts';
import { artifactUses } from '../../../temporal/client/artifact/artifactUses.ts';
import type { CommandContext } from '../../context.ts';
import { openTemporal } from '../../openTemporal.ts';
import { artifactStoreOf } from './artifactOf.ts';
import { type Pruned, prunedLines, sumLine, sumOf } from './prunedLines.ts';
import { recordedReleases } from './recordedReleases.ts';

/** The options of `slipway prune`. */
export interface PruneOptions {
  readonly config?: string;
  /** Nothing is removed: what would be is shown. */
  readonly dryRun?: boolean;
  /** Milliseconds. Default: the file's. */
  readonly olderThan?: number;
  /** Default: the file's. */
  readonly keep?: number;
  /** Targets that Temporal does not know, for which nothing is kept. */
  readonly forget?: readonly string[];
}

/**
 * `slipway prune`: removes old artifacts from the artifact store. Every target, promotion and schedule of the namespace
 * is asked first what it needs; where one cannot be asked, nothing is removed.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_TARGET_SILENT, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_RECORD_UNREADABLE: nothing was
 *   removed; SLIPWAY_ARTIFACT_STORE_….
 */
export async function runPruneCommand(context: CommandContext, options: PruneOptions): Promise<number> {
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
    const columns = output.live ? output.columns() : Infinity;
    for (const line of prunedLines(done, Date.now(), columns, output.style)) output.print(line);
  }
  output.event({ event: 'pruned', store: store.url, dryRun, ...sumOf(done), exitCode: 0 });
  output.print(sumLine(done, store.url, dryRun));
  return 0;
}

async function retentions(
  context: CommandContext,
  store: ArtifactStore,
  declared: { readonly keep: number; readonly olderThan: number },
  { keep = declared.keep, olderThan = declared.olderThan, forget = [] }: PruneOptions,
): Promise<readonly Retention[]> {
  const temporal = await openTemporal(context);
  try {
    const { uses, targets } = await artifactUses(temporal);
    const recorded = await recordedReleases(store);
    // One of the same name that keeps its records elsewhere does not speak for those that are kept here.
    const asked = new Set(targets.filter((target) => target.store === store.url).map(({ name }) => name));
    const releases = recorded.filter(({ target }) => asked.has(target) || !forget.includes(target));
    const needed = [...uses, ...unaskedUses(releases, asked)];
    const policy = { keep, olderThanMs: olderThan };
    return decideRetention(await store.listArtifacts(), needed, releases, policy, Date.now());
  } finally {
    await temporal.close();
  }
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
