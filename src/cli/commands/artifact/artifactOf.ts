import { type PackedSource, packSource } from '../../../artifact/pack.ts';
import type { SuspectedSecret } from '../../../artifact/suspectedSecrets.ts';
import type { Project } from '../../../config/loadConfig.ts';
import type { Artifact } from '../../../domain/artifact/artifact.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import type { Output } from '../../output.ts';
import { sayIfSlow } from '../../sayIfSlow.ts';
import { counted, firstOf, sizeText } from '../../ui/text.ts';
import { missingGraphs } from '../lint/graphProblems.ts';
import { artifactStoreOf } from './artifactStoreOf.ts';
import { type SourceToPack, sourceToPack, warnOfSource } from './sourceToPack.ts';

/** An artifact that can be released, and where records of its releases are kept. */
export interface PreparedArtifact {
  readonly artifact: Artifact;
  readonly recordStore: string;
  /** How many files and links a tarball contains. */
  readonly entries?: number;
}

/**
 * Makes a target's artifact: packs the source and puts it in the artifact store, or names the image or the git ref.
 * @param strict - refuse a source that contains a suspected secret, instead of warning.
 * @param take - called with the packed source before it is removed. Default: puts it in the artifact store.
 */
export async function artifactOf(
  { config, folder }: Project,
  targetName: string,
  context: CommandContext,
  strict: boolean,
  signal: AbortSignal,
  take?: (packed: PackedSource) => Promise<void>,
): Promise<PreparedArtifact> {
  const target = config.targets[targetName];
  if (target === undefined) {
    const hint = 'release on it with: slipway preview --pr NUMBER';
    throw new SlipwayError('SLIPWAY_TARGET_UNKNOWN', `"${targetName}" is a preview's deployment`, { hint });
  }
  const store = artifactStoreOf({ config, folder }, context);
  const recordStore = store.url;
  if (target.image !== undefined) return { artifact: { kind: 'image', uri: target.image }, recordStore };
  if (target.repo !== undefined) return { artifact: { kind: 'git', ref: target.repo.ref }, recordStore };

  const source = await sourceToPack({ config, folder }, context);
  const { output } = context;
  for (const { path, message } of await missingGraphs({ config, folder }, [targetName]))
    output.warn(`${path.join('.')}: ${message}`);
  const packed = await packWarned(output, source, strict, signal);
  const { digest, sizeBytes, entries } = packed;
  try {
    const putting = take?.(packed) ?? store.put(packed.file, digest, signal);
    await sayIfSlow(output, `Storing ${sizeText(sizeBytes)} in ${store.url}`, putting);
  } finally {
    await packed.remove();
  }
  return { artifact: { kind: 'tarball', digest, sizeBytes, store: store.url }, recordStore, entries };
}

/** Packs a source, and warns first of what a person may not want in it, or may miss. @throws as {@link warnOfSecrets}. */
export async function packWarned(
  output: Output,
  source: SourceToPack,
  strict: boolean,
  signal: AbortSignal,
): Promise<PackedSource> {
  await warnOfSource(output, source);
  const pack = async (): Promise<PackedSource> => {
    await warnOfSecrets(output, source, strict, signal);
    return packSource({ ...source, signal });
  };
  const bytes = source.entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.sizeBytes : 0), 0);
  return sayIfSlow(output, `Packing ${counted(source.entries.length, 'file')}, ${sizeText(bytes)}`, pack());
}

/**
 * Warns of suspected secrets in a source that is about to be packed.
 * @param strict - throw instead.
 * @throws SlipwayError SLIPWAY_ARTIFACT_HOLDS_SECRET with `strict`, naming the first places.
 */
async function warnOfSecrets(
  output: Output,
  source: SourceToPack,
  strict: boolean,
  signal: AbortSignal,
): Promise<void> {
  // Loaded only if a source is packed: its rules are many.
  const { suspectedSecrets } = await import('../../../artifact/suspectedSecrets.ts');
  const found = await suspectedSecrets({ ...source, signal });
  const [first] = found;
  if (first === undefined) return;
  for (const { path, line, what } of found) output.event({ event: 'suspected_secret', path, line, what });
  const named = firstOf(found.map((secret) => `${placeOf(secret)} (${secret.what})`));
  const problem = `the source contains what looks like a secret: ${named}`;
  if (strict) {
    const hint = 'Exclude it in .slipwayignore, or refer to it: secrets: [{ name: …, from: env:… }].';
    throw new SlipwayError('SLIPWAY_ARTIFACT_HOLDS_SECRET', problem, { place: placeOf(first), hint });
  }
  output.warn(problem);
  output.note('  exclude it in .slipwayignore; --strict rejects such a source');
}

function placeOf({ path, line }: SuspectedSecret): string {
  return line === null ? path : `${path}:${line}`;
}
