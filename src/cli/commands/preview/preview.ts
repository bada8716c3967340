import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { interruptible } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { printProblems } from '../lint/problemLines.ts';
import { listPreviewsOf } from './listPreviewsOf.ts';
import type { PullRequestOptions } from './previewTarget.ts';
import { releasePreview } from './releasePreview.ts';
import { takeDown } from './takeDown.ts';

interface PreviewOptions extends Omit<PullRequestOptions, 'pr'> {
  readonly config?: string;
  readonly pr?: number;
}

/** `slipway preview [up|down|list]`: releases a pull request separately, removes it, or lists the previews. */
export async function runPreviewCommand(
  context: CommandContext,
  what: 'up' | 'down' | 'list',
  options: PreviewOptions,
): Promise<number> {
  if (what === 'list') return listPreviewsOf(context);
  const { pr } = options;
  if (pr === undefined) {
    throw new SlipwayError('SLIPWAY_USAGE', 'the number of the pull request is missing', {
      hint: `slipway preview ${what} --pr 123`,
    });
  }
  const file = await loadConfig(options.config);
  printProblems(context.output, file.warnings, 'note');
  const run = what === 'up' ? releasePreview : takeDown;
  return interruptible((signal) =>
    withTemporal(context, (temporal) => run(context, temporal, file, { ...options, pr }, signal)),
  );
}
