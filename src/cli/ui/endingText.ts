import { tookText } from '../../domain/duration.ts';
import { errorPage } from '../../domain/errors.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import { isRollbackDone, type Outcome, outcomeExitCode } from '../../domain/release/outcome.ts';
import type { PastRelease } from '../../domain/release/pastRelease.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import type { FinalAnswer } from '../../domain/target/targetState.ts';
import type { Ending } from '../../temporal/client/release/follow.ts';
import { type Cell, MARKS, type Style } from './text.ts';

export type Asked = 'release' | 'rollback';

/** The command's exit code for an ending (design, "The command"). */
export function endingExitCode(asked: Asked, ending: Ending): 0 | 2 | 3 | 4 {
  const { kind, outcome, code = null } = endedOf(ending);
  const isDone = asked === 'rollback' && isRollbackDone(kind, outcome);
  return outcomeExitCode(asked, isDone ? 'rolled_back' : outcome, code);
}

export function answerEnding({ disposition }: FinalAnswer): {
  readonly outcome: Outcome;
  readonly exitCode: 0 | 4;
} {
  return disposition === 'done'
    ? { outcome: 'rolled_back', exitCode: 0 }
    : { outcome: 'rejected', exitCode: 4 };
}

export function endingLines(
  asked: Asked,
  ending: Ending,
  { dashboardUrl, workflowUrl }: Links,
  style: Style,
): readonly string[] {
  const { releaseId, outcome, reason } = endedOf(ending);
  const mark = style.mark(endingExitCode(asked, ending) === 0);
  const elapsed = ending.from === 'result' ? ` in ${tookText(ending.result)}` : '';
  const lines = [`${mark} ${style.strong(outcomeWords(outcome))}${elapsed} (${releaseId}): ${reason}`];
  if (ending.from === 'result') lines.push(...resultLines(ending.result));
  if (dashboardUrl !== null) lines.push(`  page:       ${dashboardUrl}`);
  if (workflowUrl !== null) lines.push(`  Temporal:   ${workflowUrl}`);
  if (ending.from === 'result' && ending.result.instructions !== null) {
    lines.push('', ending.result.instructions);
  }
  return lines;
}

export interface Links {
  readonly dashboardUrl: string | null;
  readonly workflowUrl: string | null;
}

/** The link to the page, for a release that starts or continues without the command. */
export function onPageLines(dashboardUrl: string | null): readonly string[] {
  return dashboardUrl === null ? [] : [`On the page: ${dashboardUrl}`];
}

/** An outcome for people: `rolled back`. */
export function outcomeWords(outcome: Outcome): string {
  return outcome.replaceAll('_', ' ');
}

/** How a promotion ended, for people. */
export function promotionWords({ nothingToDo, outcome }: PromotionResult): string {
  return nothingToDo ? 'nothing to do' : outcomeWords(outcome);
}

/** The outcome with its mark. It is marked good if the command that asked for it would exit with 0. */
export function outcomeCell(
  { kind, outcome, code }: Pick<PastRelease, 'kind' | 'outcome' | 'code'>,
  style: Style,
): Exclude<Cell, string> {
  if (outcome === 'running') return { text: `${MARKS.running} running`, paint: style.warn };
  if (outcome === 'stopped') return { text: `${MARKS.failed} stopped`, paint: style.bad };
  const isGood = outcomeExitCode(kind, outcome, code) === 0;
  // The requested revision does not serve, so "rolled back" would look like success.
  const word = code === 'SLIPWAY_REVISION_NOT_REACHED' ? 'not reached' : outcomeWords(outcome);
  const [mark, paint] = isGood ? [MARKS.done, style.good] : [MARKS.failed, style.bad];
  return { text: `${mark} ${word}`, paint };
}

export function endedOf(
  ending: Ending,
): Pick<ReleaseResult, 'releaseId' | 'kind' | 'outcome' | 'reason' | 'servingRevisionId'> &
  Partial<Pick<ReleaseResult, 'code'>> {
  return ending.from === 'result' ? ending.result : ending.row;
}

function resultLines(result: ReleaseResult): string[] {
  const { code, revisionId, servingRevisionId, servingVerified, agentUrl } = result;
  const lines: string[] = [];
  if (code !== null) lines.push(`  code:       ${code} (${errorPage(code)})`);
  if (revisionId !== null && revisionId !== servingRevisionId)
    lines.push(`  made:       revision ${revisionId}`);
  if (servingRevisionId !== null) {
    lines.push(
      `  serves:     revision ${servingRevisionId}${servingVerified ? ', verified' : ', unverified'}`,
    );
  }
  if (agentUrl !== null) lines.push(`  agent:      ${agentUrl}`);
  return lines;
}
