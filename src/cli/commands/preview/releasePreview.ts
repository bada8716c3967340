import { pick } from '@slipway/contract/pick';

import { judgeSettings } from '../../../config/judgeSchema.ts';
import type { LoadedConfig, Project } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/instant.ts';
import {
  deploymentOf,
  makeRoom,
  type PreviewAnswer,
  type PreviewJudge,
  type PreviewTerms,
  previewWorkflowId,
} from '../../../domain/preview/preview.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import {
  listPreviews,
  pushPreview,
  removePreview,
  viewPreview,
} from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext } from '../../context.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { judgeInputs } from '../judge/inputsFile.ts';
import { releaseTarget } from '../release/release.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import {
  choosePreview,
  type ChosenPreview,
  previewTerms,
  withPreview,
} from '../../../config/previewSettings.ts';
import { gitIn, sourceProject } from '../../provenance.ts';

/**
 * `slipway preview --pr N`: releases the source as the preview of a pull request, and follows the release.
 * @returns the exit code, as of `slipway release`.
 */
export async function releasePreview(
  context: CommandContext,
  temporal: TemporalConnection,
  loaded: LoadedConfig,
  options: PullRequestOptions,
  signal: AbortSignal,
): Promise<number> {
  const { output } = context;
  const wanted = await choosePullRequest(context, loaded, options);
  const { terms, deployment, file } = wanted;
  let answer: PreviewAnswer | undefined;
  let workflowId = '';
  const { exitCode, ending } = await releaseTarget(
    context,
    temporal,
    {
      file,
      target: deployment,
      ...pick(options, 'reason', 'strict', 'wait', 'timeout'),
      submit: async (request) => {
        workflowId = previewWorkflowId(request.target);
        const judge = await prepareJudge(context, loaded, wanted);
        await evict(context, temporal, loaded, wanted, workflowId);
        return (answer = await pushPreview(temporal, { ...terms, judge }, request));
      },
    },
    signal,
  );
  if (answer === undefined) return exitCode;
  const { releaseId, expiresAt } = answer;
  const state = await viewPreview(temporal, workflowId);
  const agentUrl = (ending?.from === 'result' ? ending.result.agentUrl : null) ?? state?.agentUrl ?? null;
  const commentProblem = state?.commentProblem ?? null;
  const { name, pr } = terms;
  const seen = { name, pr, deployment, workflowId, releaseId, expiresAt, agentUrl, commentProblem };
  output.event({ event: 'preview', ...seen, exitCode });
  output.print(
    `Preview of #${pr}: ${agentUrl ?? 'no address yet'}, until ${exactText(expiresAt)} or later with the next push`,
  );
  if (commentProblem !== null) output.warn(`no comment was written: ${commentProblem}`);
  return exitCode;
}

async function prepareJudge(
  context: CommandContext,
  loaded: LoadedConfig,
  { chosen: { preview } }: ChosenPullRequest,
): Promise<PreviewJudge | undefined> {
  const { judge, from } = preview;
  if (judge === undefined) return undefined;
  const { inputs, store } = await judgeInputs(judge, loaded.folder);
  await store(artifactStoreOf(loaded, context));
  const { spec: baseline } = await chooseTargetSpec(context, loaded.config, from);
  return { settings: judgeSettings(judge), inputs, baseline };
}

/**
 * Makes room for one more preview under the limit of the file: signals the oldest idle ones to remove themselves.
 * @throws SlipwayError SLIPWAY_PREVIEWS_FULL if all others have a release running.
 */
async function evict(
  context: CommandContext,
  temporal: TemporalConnection,
  loaded: LoadedConfig,
  { chosen, terms }: ChosenPullRequest,
  workflowId: string,
): Promise<void> {
  const { name, preview } = chosen;
  const all = (await listPreviews(temporal)).filter((listed) => listed.name === name);
  const { remove, short } = makeRoom(all, workflowId, preview.max);
  if (short > 0) {
    throw new SlipwayError(
      'SLIPWAY_PREVIEWS_FULL',
      `there are ${all.length} previews of "${name}", and ${preview.max} are allowed; a release runs on each of them`,
      { hint: 'try again when one has ended, or remove one: slipway preview down --pr NUMBER' },
    );
  }
  const reason = `room for #${terms.pr}: previews.${name}.max is ${preview.max}`;
  for (const { pr, deployment } of remove) {
    const other = await choosePullRequest(context, loaded, { pr, name });
    const { spec: target } = await chooseTargetSpec(context, other.file.config, other.deployment);
    const spec = { ...other.terms, target, recordStore: artifactStoreOf(loaded, context).url };
    await removePreview(temporal, spec, { who: 'slipway', from: 'preview', reason });
    context.output.event({ event: 'preview_evicted', name, pr, deployment });
    context.output.info(`Removing the preview of #${pr} (${deployment}): ${reason}`);
  }
}

export interface PullRequestOptions {
  readonly pr: number;
  readonly name?: string;
  readonly reason?: string;
  readonly strict?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

interface ChosenPullRequest {
  readonly chosen: ChosenPreview;
  readonly terms: PreviewTerms;
  /** The name of the deployment, and of the target in `file`. */
  readonly deployment: string;
  readonly file: Project;
}

/** Chooses the preview of a pull request. If the file has no repository, reads it from CI or git. */
export async function choosePullRequest(
  { environment }: CommandContext,
  { config, folder }: Project,
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
