import { describeArtifact, shortArtifact } from '../../../domain/artifact/artifact.ts';
import type { Check } from '../../../domain/check/check.ts';
import { percent } from '../../../domain/check/dataset.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { formatInstant } from '../../../domain/freeze/zonedTime.ts';
import type { FieldDifference } from '../../../domain/release/fieldDifferences.ts';
import type { KnownRevision } from '../../../domain/release/release.ts';
import type { PlannedAnswer, PlannedChange, PlannedSecret } from '../../../domain/release/releasePlan.ts';
import { counted, sizeText, type Style, tableLines } from '../../ui/text.ts';
import { fieldLines } from '../show/difference.ts';
import { describeHold } from '../target/localHold.ts';
import type { ReleasePlan } from './releasePlan.ts';

const LARGEST_SHOWN = 3;

/** A release's plan for people. */
export function releasePlanLines(plan: ReleasePlan, style: Style): readonly string[] {
  const { target, answer, change, steps, checks, soakMs, longestMs, restoringLongestMs } = plan.event;
  return [
    `A release on ${style.strong(target)} would do this now; nothing is made, started or stored`,
    ...artifactLines(plan),
    ...deploymentLines(plan, style),
    ...(answer === null
      ? [`  taken      ${style.warn(`not known: ${plan.unreached.target?.message ?? ''}`)}`]
      : takenLines(answer, style)),
    ...waitLines(plan.event, style),
    ...(change === null ? [] : changeLines(change, style)),
    '  steps',
    ...stepLines(steps, style),
    ...(soakMs === 0 ? [] : [`  soaks      for ${formatDuration(soakMs)}`]),
    '  checks',
    ...(checks.length === 0
      ? [`    ${style.warn('none: a revision counts as verified once it serves')}`]
      : checks.map(checkLine)),
    `  takes      at most ${formatDuration(longestMs)}, by the deadlines of its steps`,
    `  restored in at most ${formatDuration(restoringLongestMs)} for each attempted revision`,
  ];
}

function artifactLines({ request, event }: ReleasePlan): string[] {
  const { artifact, commit } = request;
  const { files, difference } = event.artifact;
  const at = commit === undefined ? '' : `, commit ${commit}`;
  if (artifact.kind !== 'tarball') return [`  artifact   ${describeArtifact(artifact)}${at}`];
  const largest = (files ?? [])
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
    .slice(0, LARGEST_SHOWN);
  const { length } = files ?? [];
  return [
    `  artifact   ${artifact.digest} (${sizeText(artifact.sizeBytes)}, ${counted(length, 'file')})${at}`,
    `             largest: ${largest.map(({ path, sizeBytes }) => `${path} (${sizeText(sizeBytes)})`).join(', ')}`,
    ...(difference === null
      ? []
      : [
          `             files, against what serves: ${difference.added.length} added, ` +
            `${difference.removed.length} removed, ${difference.changed.length} changed`,
        ]),
  ];
}

function deploymentLines({ request, event, unreached }: ReleasePlan, style: Style): string[] {
  const { deployment, creates, serving, answer } = event;
  const { deployment: name } = request.target;
  if (creates === null) {
    return [`  deployment ${name}: ${style.warn(`not known: ${unreached.deployment?.message ?? ''}`)}`];
  }
  if (deployment === null) return [`  deployment ${name} does not exist: the release creates it`];
  const { deploymentId, activeRevisionId: active } = deployment;
  // Only the target knows whether the revision was verified.
  const verified = answer === null ? '' : `, ${verifiedWords(serving)}`;
  const serves = active === null ? 'nothing serves' : `revision ${active} serves${verified}`;
  return [`  deployment ${name}, ${deploymentId}: ${serves}`];
}

function verifiedWords(serving: KnownRevision | null): string {
  if (serving === null) return 'which the target does not know';
  return serving.verified ? 'verified' : 'unverified';
}

function takenLines(
  { releaseId, disposition, reason, running, waiting, superseded }: PlannedAnswer,
  style: Style,
): string[] {
  const words = `${releaseId}, ${disposition.replaceAll('_', ' ')}: ${reason}`;
  return [
    `  taken      ${disposition === 'rejected' ? style.bad(words) : words}`,
    ...(running === null ? [] : [`  running    ${running.releaseId}`]),
    ...(waiting.length === 0 ? [] : [`  before it  ${waiting.join(', ')}`]),
    ...(superseded.length === 0 ? [] : [`  supersedes ${superseded.join(', ')}`]),
  ];
}

function waitLines({ frozen, localHold, approval }: ReleasePlan['event'], style: Style): string[] {
  const lines: string[] = [];
  if (localHold !== null) {
    lines.push(`  held       ${style.bad(`${describeHold(localHold)} (by break-glass, on this machine)`)}`);
  }
  if (frozen !== null) {
    const until = formatInstant(Date.parse(frozen.until), frozen.timeZone);
    const then = frozen.then === 'refuse' ? 'the release is rejected' : 'the release waits';
    lines.push(`  frozen     ${style.warn(`by "${frozen.name}" until ${until}: ${then}`)}`);
  }
  if (approval !== null && approval.required > 0) {
    const { required, withinMs, approvers } = approval;
    const who = approvers === undefined ? '' : ` of ${approvers.join(', ')}`;
    lines.push(`  approval   by ${required}${who}, within ${formatDuration(withinMs)}`);
  }
  return lines;
}

function changeLines({ fields, immutable, secrets }: PlannedChange, style: Style): string[] {
  return [
    '  changes',
    ...fieldLines(fields, style),
    ...immutable.map(
      ({ path, from, to }: FieldDifference) =>
        `    ${style.bad(`! ${path} stays ${shown(from)}: it cannot become ${shown(to)} after creation`)}`,
    ),
    '  secrets',
    ...(secrets === null
      ? ['    unchanged: the deployment keeps its own']
      : secrets.length === 0
        ? ['    none']
        : secrets.map((secret) => secretLine(secret, style))),
  ];
}

function secretLine({ name, from, change }: PlannedSecret, style: Style): string {
  switch (change) {
    case 'added':
      return `    ${style.good(`+ ${name} from ${from ?? ''}`)}`;
    case 'set_again':
      return `      ${name} from ${from ?? ''}`;
    case 'removed':
      return `    ${style.bad(`- ${name}`)}`;
  }
}

function stepLines(steps: ReleasePlan['event']['steps'], style: Style): string[] {
  const rows = steps.map(({ step, subject, times, ...policy }) => {
    const { startToCloseMs, scheduleToCloseMs, heartbeatMs, retry } = policy;
    const often = times === 1 ? '' : ` × ${times}`;
    const silence = heartbeatMs === undefined ? '-' : formatDuration(heartbeatMs);
    return [
      `${step}${subject === null ? '' : ` ${subject}`}${often}`,
      formatDuration(startToCloseMs),
      formatDuration(scheduleToCloseMs),
      silence,
      retry.maximumAttempts === 0 ? 'until then' : `at most ${retry.maximumAttempts}`,
    ];
  });
  const headings = ['STEP', 'ONE ATTEMPT', 'ALL OF IT', 'SILENCE', 'ATTEMPTS'];
  return tableLines(headings, rows, { columns: Infinity, style }).map((line) => `    ${line}`);
}

function checkLine(check: Check): string {
  const { name, assistant, timeoutMs, expect, turns, repeat, pass = repeat, dataset } = check;
  const { evaluators = [] } = check;
  const scored = evaluators.map((one) => `, and ${one.minScore} from ${one.name}`).join('');
  const repeated = repeat === undefined ? '' : ` up to ${repeat} times, of which ${pass ?? 0} must pass`;
  const asked = `    ${name}: asks ${assistant}${repeated}, within ${formatDuration(timeoutMs)}`;
  if (dataset !== undefined) {
    const { rows, of, digest, passRate = 1 } = dataset;
    const which = `${rows} of the ${of} rows of ${shortArtifact(digest)}, of which ${percent(passRate)} must pass`;
    return `${asked} each of ${which}, expects ${JSON.stringify(expect)}${scored}`;
  }
  if (turns === undefined) return `${asked}, expects ${JSON.stringify(expect)}${scored}`;
  const expected = turns.map((turn) => JSON.stringify(turn.expect)).join(', then ');
  return `${asked} for each of ${turns.length} turns, expects ${expected}${scored}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
