import { CodedError } from '@slipway/contract/codedError';
import { pick } from '@slipway/contract/pick';

import { judgeSettings } from '../../../config/judgeSchema.ts';
import { loadConfig, type LoadedConfig, type Project } from '../../../config/loadConfig.ts';
import {
  choosePreview,
  type ChosenPreview,
  previewTerms,
  withPreview,
} from '../../../config/previewSettings.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/scalars.ts';
import {
  makeRoom,
  type PreviewAnswer,
  type PreviewJudge,
  type PreviewTerms,
} from '../../../domain/preview/preview.ts';
import { deploymentOf, previewsOf, previewWorkflowId } from '../../../domain/preview/previewName.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import {
  awaitRemoval,
  type ListedPreview,
  listPreviews,
  pushPreview,
  removePreview,
  viewPreview,
  withStuckTasks,
} from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { GAVE_UP, printGaveUp } from '../../follow/stopFollowing.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { gitIn, readRequester, sourceProject } from '../../provenance.ts';
import { type Session, withSession } from '../../session.ts';
import { type Cell, type Screen, tableLines } from '../../ui/text.ts';
import { judgeInputs } from '../judge/inputsFile.ts';
import { printProblems } from '../lint/problemLines.ts';
import { releaseTarget } from '../release/release.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

interface PreviewOptions extends FileOptions, Omit<PullRequestOptions, 'pr'> {
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
    const hint = `slipway preview ${what} --pr 123`;
    throw new SlipwayError('SLIPWAY_USAGE', 'the number of the pull request is missing', { hint });
  }
  const file = await loadConfig(options.config);
  printProblems(context.output, file.warnings, 'note');
  const run = what === 'up' ? releasePreview : takeDown;
  return withSession(context, (session) => run(session, file, { ...options, pr }));
}

/**
 * `slipway preview down --pr N`: signals the preview to remove itself, and waits for the removal.
 * @returns the exit code: 0 if it was removed, or did not exist.
 */
async function takeDown(
  session: Session,
  loaded: LoadedConfig,
  { pr, name, reason, wait, timeout }: PullRequestOptions,
): Promise<number> {
  const { output, temporal, signal } = session;
  const { terms, deployment, file } = await choosePullRequest(session, loaded, { pr, name });
  const { spec: target, openStore } = await chooseTargetSpec(session, file, deployment);
  const by = await readRequester(session, loaded.folder, reason);
  const recordStore = openStore().url;
  signal.throwIfAborted();
  await removePreview(temporal, { ...terms, target, recordStore }, by);
  const workflowId = previewWorkflowId(target);
  output.event({ event: 'preview_removal', name: terms.name, pr, deployment, workflowId });
  const asked = `The preview of #${pr} (${deployment}) removes itself`;
  if (!wait) {
    output.print(asked);
    return 0;
  }
  output.info(asked);
  const result = await awaitRemoval(temporal, workflowId, timeout, signal);
  if (result === undefined) {
    const why = signal.aborted ? 'stopped' : 'timeout';
    printGaveUp(output, why, 'slipway preview list', 'the removal continues');
    return GAVE_UP;
  }
  output.event({ event: 'preview_removed', ...result, exitCode: 0 });
  const isParked = result.removed === 'parked';
  output.print(isParked ? output.style.warn(result.reason) : result.reason);
  return 0;
}

const HEADINGS = ['PULL REQUEST', 'PREVIEW', 'DEPLOYMENT', 'STATE', 'AGE', 'EXPIRES IN', 'ADDRESS'];

async function listPreviewsOf(context: CommandContext): Promise<number> {
  const { output } = context;
  const previews = await withTemporal(context, async (temporal) =>
    withStuckTasks(temporal, await listPreviews(temporal)),
  );
  for (const preview of previews) output.event({ event: 'listed_preview', ...preview });
  if (previews.length === 0) output.print('There are no previews');
  else for (const line of previewLines(previews, output.screen())) output.print(line);
  return 0;
}

export function previewLines(previews: readonly ListedPreview[], screen: Screen): readonly string[] {
  const { now, style } = screen;
  const rows = previews.map(
    ({ pr, name, deployment, phase, createdAt, expiresAt, agentUrl, outcome }): Cell[] => [
      `#${pr}`,
      name,
      deployment,
      phase === 'removal_failed' ? { text: 'removal failed', paint: style.bad } : stateText(phase, outcome),
      sinceText(now - Date.parse(createdAt)),
      sinceText(Date.parse(expiresAt) - now),
      agentUrl ?? '',
    ],
  );
  return [
    ...tableLines(HEADINGS, rows, screen),
    ...previews.flatMap(({ pr, problem }) => (problem === null ? [] : [style.warn(`#${pr}: ${problem}`)])),
  ];
}

function stateText(phase: ListedPreview['phase'], outcome: ListedPreview['outcome']): string {
  const text = phase === 'idle' ? (outcome ?? 'idle') : phase;
  return text.replaceAll('_', ' ');
}

function sinceText(ms: number): string {
  return formatDuration(Math.round(ms / 1_000) * 1_000);
}

/**
 * `slipway preview --pr N`: releases the source as the preview of a pull request, and follows the release.
 * @returns the exit code, as of `slipway release`.
 */
async function releasePreview(
  session: Session,
  loaded: LoadedConfig,
  options: PullRequestOptions,
): Promise<number> {
  const { output, temporal, signal } = session;
  const wanted = await choosePullRequest(session, loaded, options);
  const { terms, deployment, file } = wanted;
  let answer: PreviewAnswer | undefined;
  let workflowId = '';
  const { exitCode, ending } = await releaseTarget(session, {
    file,
    target: await chooseTargetSpec(session, file, deployment),
    ...pick(options, 'reason', 'strict', 'wait', 'timeout'),
    submit: async (request) => {
      workflowId = previewWorkflowId(request.target);
      const judge = await prepareJudge(session, loaded, wanted);
      await evict(session, loaded, wanted, request.target);
      try {
        return (answer = await pushPreview(temporal, { ...terms, judge }, request, signal));
      } catch (error) {
        throw signal.aborted ? stoppedBeforeItsAnswer(error) : error;
      }
    },
  });
  if (answer === undefined) return exitCode;
  const { releaseId, expiresAt } = answer;
  const state = await viewPreview(temporal, workflowId);
  const removal = state?.removal?.because ?? null;
  const known = (ending?.from === 'result' ? ending.result.agentUrl : null) ?? state?.agentUrl ?? null;
  const agentUrl = removal === null ? known : null;
  const commentProblem = state?.commentProblem ?? null;
  const { name, pr } = terms;
  const seen = { name, pr, deployment, workflowId, releaseId, expiresAt, agentUrl, removal, commentProblem };
  output.event({ event: 'preview', ...seen, exitCode });
  output.print(
    removal === null
      ? `Preview of #${pr}: ${agentUrl ?? 'no address yet'}, until ${exactText(expiresAt)} or later with the next push`
      : output.style.warn(`The preview of #${pr} is removed: ${removal}`),
  );
  if (commentProblem !== null) output.warn(`no comment was written: ${commentProblem}`);
  return exitCode;
}

/** A push that was sent cannot be withdrawn. */
function stoppedBeforeItsAnswer(cause: unknown): CodedError {
  return new CodedError('SLIPWAY_USAGE', INTERRUPTED, 'stopped; the push may still be released', {
    hint: 'see it: slipway preview list',
    cause,
  });
}

async function prepareJudge(
  context: CommandContext,
  loaded: LoadedConfig,
  { chosen: { preview } }: ChosenPullRequest,
): Promise<PreviewJudge | undefined> {
  const { judge, from } = preview;
  if (judge === undefined) return undefined;
  const { inputs, store } = await judgeInputs(judge, loaded.folder);
  const { spec: baseline, openStore } = await chooseTargetSpec(context, loaded, from);
  await store(openStore());
  return { settings: judgeSettings(judge), inputs, baseline };
}

/**
 * Makes room for one more preview under the limit of the file: signals the oldest idle ones to remove themselves.
 * @throws SlipwayError SLIPWAY_PREVIEWS_FULL if all others have a release running.
 */
async function evict(
  session: Session,
  loaded: LoadedConfig,
  { chosen, terms }: ChosenPullRequest,
  own: TargetSpec,
): Promise<void> {
  const { output, temporal } = session;
  const { name, preview } = chosen;
  const all = previewsOf(await listPreviews(temporal), own, preview.deployment);
  const { remove, short } = makeRoom(all, previewWorkflowId(own), preview.max);
  if (short > 0) {
    const what = `there are ${all.length} previews of "${name}", and ${preview.max} are allowed; a release runs on each of them`;
    const hint = 'try again when one has ended, or remove one: slipway preview down --pr NUMBER';
    throw new SlipwayError('SLIPWAY_PREVIEWS_FULL', what, { hint });
  }
  const reason = `room for #${terms.pr}: previews.${name}.max is ${preview.max}`;
  for (const { pr, deployment } of remove) {
    const other = await choosePullRequest(session, loaded, { pr, name });
    const { spec: target, openStore } = await chooseTargetSpec(session, other.file, other.deployment);
    const spec = { ...other.terms, target, recordStore: openStore().url };
    await removePreview(temporal, spec, { who: 'slipway', from: 'preview', reason });
    output.event({ event: 'preview_evicted', name, pr, deployment });
    output.info(`Removing the preview of #${pr} (${deployment}): ${reason}`);
  }
}

interface PullRequestOptions {
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
  readonly deployment: string;
  readonly file: Project;
}

/** Chooses the preview of a pull request. If the file has no repository, reads it from CI or git. */
async function choosePullRequest(
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
