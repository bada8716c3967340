import type { LoadedConfig } from '../../../config/loadConfig.ts';
import type { Check } from '../../../domain/check/check.ts';
import type { CommandContext } from '../../context.ts';
import { readDatasets } from '../../datasets/readDatasets.ts';
import { artifactOf, type PreparedArtifact } from '../artifact/artifactOf.ts';
import { warnOfSecrets } from '../artifact/warnOfSecrets.ts';
import type { ChosenTarget } from '../target/targetAccess.ts';

/**
 * Puts a target's artifact and the datasets of its checks into the artifact store.
 * @param strict - refuse a source that contains a suspected secret, instead of warning.
 */
export async function storeArtifact(
  context: CommandContext,
  file: Pick<LoadedConfig, 'config' | 'folder'>,
  { name, settings }: Pick<ChosenTarget, 'name' | 'settings'>,
  strict: boolean,
  signal: AbortSignal,
): Promise<{ readonly prepared: PreparedArtifact; readonly checks: readonly Check[] }> {
  const datasets = await readDatasets(context, file, settings, signal);
  const prepared = await artifactOf(file, name, context, signal, (source) =>
    warnOfSecrets(context.output, source, strict, signal),
  );
  await datasets.store();
  return { prepared, checks: datasets.checks };
}
