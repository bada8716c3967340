import { nameAndProof } from '../../../domain/actor.ts';
import type { ActivityFact } from '../../../domain/audit/facts.ts';
import { datasetText } from '../../../domain/check/dataset.ts';
import { scoresText } from '../../../domain/check/evaluator.ts';
import { repetitionsText } from '../../../domain/check/repetition.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { endText } from '../../../domain/guard/guarding.ts';
import type { UnderWay } from '../../../domain/heartbeat.ts';
import { exactText } from '../../../domain/scalars.ts';
import type { InterventionRecord } from '../../../domain/intervention/intervention.ts';
import type { Baseline, CheckVerdict, Progress, StepRecord } from '../../../domain/release/release.ts';
import type { FoundRelease } from '../../../inspection/release/findRelease.ts';
import type { GuardSeen } from '../../../temporal/client/guard/guardClient.ts';
import { outcomeCell } from '../../ui/endingText.ts';
import { stepLine } from '../../ui/progressLines.ts';
import { fitLine, type Screen, type Style, timeText } from '../../ui/text.ts';
import { underWayLines } from '../../ui/underWayLines.ts';

const ANSWER_MAX_CHARACTERS = 300;
const LABEL_WIDTH = 9;

export interface ReleaseShown extends FoundRelease, UnderWay {
  /** Its page; `null`: the page's address is not set. */
  readonly dashboardUrl: string | null;
  /** The guard of what it released; `null`: it has none, or Temporal no longer has it. */
  readonly guard: GuardSeen | null;
}

interface Branch {
  readonly line: string;
  readonly below?: readonly string[];
}

/**
 * Everything known about a release, for people.
 * @param answers - complete answers, by record name.
 */
export function releaseLines(
  found: ReleaseShown,
  screen: Screen,
  answers: ReadonlyMap<string, string> = new Map(),
): readonly string[] {
  const { now, style } = screen;
  const { target, past, result, progress, workflowUrl, dashboardUrl, calls, call, buildLog } = found;
  const { text, paint } = outcomeCell(past, style);
  const source: Pick<Progress, 'steps' | 'verdicts' | 'interventions'> | null = result ?? progress;
  const lines = [
    `${style.strong(past.releaseId)} on ${style.strong(target)}: ${paint(text)}${elapsedText(found, now)}`,
    ...(past.reason === null ? [] : [`  ${past.reason}`]),
    ...factLines(found, now, style),
  ];
  if (source !== null) {
    const steps = source.steps.map((step) => stepBranch(step, source.verdicts, screen));
    const checks = source.verdicts.map((verdict) => verdictBranch(verdict, answers, style));
    const commands = source.interventions.map(saidBranch);
    lines.push(...section('steps', steps), ...section('checks', checks), ...section('commands', commands));
  } else if (past.outcome === 'running') {
    lines.push(style.warn('  no worker answers; its calls so far:'));
    lines.push(...section('calls', calls.map(callBranch)));
  }
  lines.push(...underWayLines({ progress, call, buildLog, addressed: target }, screen));
  if (found.guard !== null) lines.push(fact('guard', guardFact(found.guard)));
  if (dashboardUrl !== null) lines.push(fact('page', dashboardUrl));
  if (workflowUrl !== null) lines.push(fact('Temporal', workflowUrl));
  const instructions = result?.instructions ?? null;
  return instructions === null ? lines : [...lines, '', instructions];
}

function guardFact({ until, measured, report }: GuardSeen): string {
  if (report !== null) return endText(report);
  return `until ${exactText(until)}${measured === null ? '' : `; measured last: ${measured.says}`}`;
}

function elapsedText({ past, result }: FoundRelease, now: number): string {
  const { startedAt, endedAt, outcome } = past;
  if (startedAt === null) return '';
  const until = endedAt === null ? now : Date.parse(endedAt);
  const code = result?.code == null ? '' : ` (${result.code})`;
  return ` ${outcome === 'running' ? 'for' : 'in'} ${formatDuration(until - Date.parse(startedAt))}${code}`;
}

function factLines(
  { past, result, progress, request, from }: FoundRelease,
  now: number,
  style: Style,
): string[] {
  const { requestedBy, startedAt, endedAt, artifact, commit, revisionId } = past;
  const reason = requestedBy.reason === undefined ? '' : `: ${requestedBy.reason}`;
  const stopped = result?.preemptedBy;
  const facts: readonly (readonly [label: string, value: string | null | undefined])[] = [
    ['asked', `by ${nameAndProof(requestedBy)}, from ${requestedBy.from}${reason}`],
    ['started', startedAt === null ? null : timeText(startedAt, now)],
    ['ended', endedAt === null ? null : timeText(endedAt, now)],
    ['artifact', artifact],
    ['commit', commit],
    ['ref', request !== null && 'ref' in request ? request.ref : null],
    ['before', beforeText((result ?? progress)?.baseline ?? null)],
    ['made', (result ?? progress)?.revisionId ?? revisionId],
    ['restored', restoredText(result)],
    ['serves', servesText(past.servingRevisionId, result?.servingVerified)],
    ['agent', result?.agentUrl],
    ['stopped', stopped && `for the rollback by ${nameAndProof(stopped.requestedBy)}`],
    ['known', from === 'temporal' ? null : KNOWN_FROM[from]],
  ];
  return facts.flatMap(([label, value]) =>
    value == null ? [] : [fact(style.faint(label.padEnd(LABEL_WIDTH)), value)],
  );
}

const KNOWN_FROM = {
  record: 'from its record in the artifact store; Temporal no longer keeps it',
  target: 'only from its row in the target’s history',
} as const;

function fact(label: string, value: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)} ${value}`;
}

function beforeText(baseline: Baseline | null): string | null {
  if (baseline === null) return null;
  if (baseline.revisionId === null) return 'nothing';
  const silent = baseline.silent === undefined ? '' : `; ${baseline.silent}`;
  return `revision ${baseline.revisionId}, ${baseline.verified ? 'verified' : 'unverified'}${silent}`;
}

function restoredText(result: FoundRelease['result']): string | null {
  const redeployed = (result?.steps ?? []).filter(({ step }) => step === 'redeploy');
  if (redeployed.length === 0) return null;
  return redeployed
    .map(({ subject = '', status }) => `revision ${subject}${status === 'done' ? '' : `: ${status}`}`)
    .join(', ');
}

function servesText(revisionId: string | null, verified: boolean | undefined): string | null {
  if (revisionId === null) return null;
  if (verified === undefined) return `revision ${revisionId}`;
  return `revision ${revisionId}, ${verified ? 'verified' : 'unverified'}`;
}

function section(title: string, branches: readonly Branch[]): string[] {
  if (branches.length === 0) return [];
  return [`  ${title}`, ...treeLines(branches).map((line) => `  ${line}`)];
}

function treeLines(branches: readonly Branch[]): readonly string[] {
  return branches.flatMap(({ line, below = [] }, index) => {
    const isLast = index === branches.length - 1;
    return [`${isLast ? '└─' : '├─'} ${line}`, ...below.map((more) => `${isLast ? '  ' : '│ '}   ${more}`)];
  });
}

function stepBranch(step: StepRecord, verdicts: readonly CheckVerdict[], screen: Screen): Branch {
  const line = stepLine(step, verdicts, { ...screen, columns: Infinity });
  return { line: `${screen.style.faint(clock(step.startedAt))}${line.slice(1)}` };
}

function verdictBranch(verdict: CheckVerdict, answers: ReadonlyMap<string, string>, style: Style): Branch {
  const { check, passed, reasons, runId, latencyMs, revisionId, repetitions, scores, dataset } = verdict;
  const whole = answers.get(verdict.answerRecord ?? '');
  const answered = fitLine(whole ?? verdict.answer, whole === undefined ? ANSWER_MAX_CHARACTERS : Infinity);
  const mark = style.mark(passed);
  const run = runId === null ? '' : `, run ${runId}`;
  const repeated = repetitions === undefined || !passed ? '' : `, ${repetitionsText(repetitions)}`;
  const rows = dataset === undefined || !passed ? '' : `, ${datasetText(dataset)}`;
  return {
    line: `${mark} ${check} on revision ${revisionId.slice(0, 8)}, ${formatDuration(latencyMs)}${run}${repeated}${rows}`,
    below: [
      ...reasons,
      ...(scores === undefined ? [] : [`scored ${scoresText(scores)}`]),
      `answered ${answered}`,
    ],
  };
}

function saidBranch({ kind, what, by, at, note, taken }: InterventionRecord): Branch {
  const about = what === undefined ? '' : ` ${what}`;
  const reason = by.reason === undefined ? '' : ` (${by.reason})`;
  return {
    line: `${clock(at)} ${kind}${about} by ${nameAndProof(by)}${reason}: ${taken ? '' : 'not accepted, '}${note}`,
  };
}

function callBranch({ name, scheduledAt, endedAt, outcome }: ActivityFact): Branch {
  const at = clock(new Date(scheduledAt).toISOString());
  const took = endedAt === null ? '' : ` after ${formatDuration(endedAt - scheduledAt)}`;
  return { line: `${at} ${name}: ${outcome.replaceAll('_', ' ')}${took}` };
}

function clock(time: string): string {
  return exactText(time).slice('0000-00-00 '.length, -1);
}
