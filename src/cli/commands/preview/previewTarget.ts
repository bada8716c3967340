import type { LoadedConfig } from '../../../config/loadConfig.ts';
import {
  type ChosenPreview,
  choosePreview,
  previewTerms,
  withPreview,
} from '../../../config/previewSettings.ts';
import { deploymentOf, type PreviewTerms } from '../../../domain/preview/preview.ts';
import type { CommandContext } from '../../context.ts';
import { gitIn, sourceProject } from '../../provenance.ts';

export interface PullRequestOptions {
  readonly pr: number;
  readonly name?: string;
  readonly reason?: string;
  readonly strict?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

export interface ChosenPullRequest {
  readonly chosen: ChosenPreview;
  readonly terms: PreviewTerms;
  /** The name of the deployment, and of the target in `file`. */
  readonly deployment: string;
  readonly file: Pick<LoadedConfig, 'config' | 'folder'>;
}

/** Chooses the preview of a pull request. If the file has no repository, reads it from CI or git. */
export async function choosePullRequest(
  { environment }: CommandContext,
  { config, folder }: Pick<LoadedConfig, 'config' | 'folder'>,
  { pr, name }: Pick<PullRequestOptions, 'pr' | 'name'>,
): Promise<ChosenPullRequest> {
  const chosen = choosePreview(config, name);
  const terms = previewTerms(chosen, pr);
  const { comment } = terms;
  const isKnown = comment === undefined || comment.repository !== undefined;
  const repository = isKnown ? undefined : await sourceProject(environment, gitIn(folder));
  return {
    chosen,
    terms:
      comment === undefined || repository === undefined
        ? terms
        : { ...terms, comment: { ...comment, repository } },
    deployment: deploymentOf(chosen.preview.deployment, pr),
    file: { config: withPreview(config, chosen, pr), folder },
  };
}
