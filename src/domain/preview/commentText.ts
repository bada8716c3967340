import { shortCommit } from '../artifact/artifact.ts';
import { cutText } from '../bounds.ts';
import { exactText } from '../scalars.ts';
import {
  previewPhase,
  type PreviewEnding,
  type PreviewJudgement,
  type PreviewResult,
  type PreviewSpec,
  type PreviewState,
} from './preview.ts';

/** GitHub takes 65,536 characters, GitLab a million. */
const COMMENT_MAX_BYTES = 60_000;
const CELL_MAX_BYTES = 300;
const CHECKS_SHOWN = 100;

/** Identifies the comment of a preview: HTML that neither GitHub nor GitLab shows. */
export function commentMarker({ name, target }: Pick<PreviewSpec, 'name' | 'target'>): string {
  return `<!-- slipway-preview ${name} ${target.deployment} -->`;
}

/**
 * The comment of a preview, as Markdown: the state, the address, the checks of the newest release that ended, and when
 * the preview expires.
 * @param result - how the preview ended. `null`: it has not.
 */
export function commentText(spec: PreviewSpec, state: PreviewState, result: PreviewResult | null): string {
  const { name, target } = spec;
  const lines = [commentMarker(spec), `### Preview \`${target.deployment}\` (${cell(name)})`, ''];
  if (result !== null) lines.push(`**Removed.** ${cell(result.reason)}`);
  else lines.push(...aliveLines(state));
  return cutText(lines.join('\n'), COMMENT_MAX_BYTES);
}

function aliveLines(state: PreviewState): readonly string[] {
  const { release, last, agentUrl, expiresAt } = state;
  const phase = previewPhase(state);
  const now =
    release !== null
      ? `**Releasing** ${release.releaseId}${commitText(release.commit)}.`
      : phase === 'idle'
        ? '**Ready for the next push.**'
        : '**Being removed.**';
  return [
    now,
    '',
    `- address: ${agentUrl ?? 'none yet'}`,
    `- expires: ${exactText(expiresAt)}, or later with the next push`,
    ...(last === null ? [] : endingLines(last)),
  ];
}

function endingLines(last: PreviewEnding): readonly string[] {
  const { releaseId, commit, outcome, reason, verdicts, judgement } = last;
  const head = [
    `- ${releaseId}${commitText(commit)}: **${outcome.replaceAll('_', ' ')}**, ${cell(reason)}`,
    ...(judgement === undefined ? [] : [judgementLine(judgement)]),
  ];
  if (verdicts.length === 0) return head;
  const rows = verdicts
    .slice(0, CHECKS_SHOWN)
    .map(
      ({ check, passed, reasons, scored }) =>
        `| ${cell(check)} | ${passed ? '✅ passed' : `❌ ${cell(reasons.join('; '))}`}${scored === undefined ? '' : `, scored ${cell(scored)}`} |`,
    );
  return [...head, '', '| check | verdict |', '|---|---|', ...rows];
}

function judgementLine({ baseline, verdict, reasons }: PreviewJudgement): string {
  return `- against what serves on ${cell(baseline)}: **${verdict ?? 'not judged'}**, ${cell(reasons.join('; '))}`;
}

function commitText(commit: string | null): string {
  return commit === null ? '' : ` (\`${shortCommit(commit)}\`)`;
}

/** A text from outside in a table's cell, without HTML, links, images or mentions of people. */
function cell(text: string): string {
  return cutText(text, CELL_MAX_BYTES)
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/[\\`*_{}[\]|!#~]/gu, String.raw`\$&`)
    .replaceAll('<', '&lt;')
    .replaceAll('@', '@\u200B');
}
