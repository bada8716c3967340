import { OUTCOMES, type Outcome } from '../../../src/domain/release/outcome.ts';
import type { ChaosReport, TargetReport } from './chaos.ts';
import { Tally } from './tally.ts';

/** All results of a run, for people. */
export function summarize(report: ChaosReport): string {
  const { seed, asked, targets, faults, said, requests, violations, orphans, tookMs } = report;
  const outcomes = new Tally();
  for (const { rows } of targets) for (const { kind, outcome } of rows) outcomes.add(`${kind} ${outcome}`);
  return [
    `chaos, seed ${seed}: ${asked} releases on ${targets.length} targets in ${Math.round(tookMs / 1_000)} s`,
    `${faults.total} faults, in ${requests} requests and in the processes:`,
    ...faults.counts.map(([what, count]) => `  ${count} × ${what}`),
    'what people did:',
    ...said.counts.map(([what, count]) => `  ${count} × ${what}`),
    'outcomes:',
    ...outcomes.counts.map(([what, count]) => `  ${count} × ${what}`),
    'targets:',
    ...targets.map((target) => `  ${describe(target)}`),
    `violations of the rules: ${violations.length}`,
    ...violations.map(({ rule, workflowId, what }) => `  rule ${rule}, ${workflowId}: ${what}`),
    `processes left behind: ${orphans.length}`,
    ...orphans.map((line) => `  ${line}`),
    `the same again: npm run test:chaos -- --seed ${seed}`,
    '',
  ].join('\n');
}

/** The problems of a run; empty if it passed. */
export function problemsOf({ asked, targets, violations, orphans }: ChaosReport): readonly string[] {
  const ended = targets.flatMap(({ rows }) => rows.filter(({ kind }) => kind === 'release'));
  return [
    ...violations.map(({ rule, workflowId, what }) => `rule ${rule}, ${workflowId}: ${what}`),
    ...orphans.map((line) => `left behind: ${line}`),
    ...ended
      .filter(({ outcome }) => !ENDINGS.has(outcome))
      .map(({ releaseId, outcome }) => `${releaseId}: ${outcome}`),
    ...(ended.length < asked ? [`${asked} releases were asked for, and ${ended.length} have ended`] : []),
    ...targets
      .filter(({ servesAsReported }) => !servesAsReported)
      .map((target) => `not the reported revision: ${describe(target)}`),
    ...targets
      .filter(({ answer }) => answer !== null && !answer.includes('messages'))
      .map((target) => `no answer: ${describe(target)}`),
  ];
}

const ENDINGS: ReadonlySet<Outcome> = new Set(OUTCOMES);

function describe({ deployment, rows, servesAsReported, answer }: TargetReport): string {
  const ended = rows.map(({ releaseId, outcome }) => `${releaseId} ${outcome}`).join(', ');
  const serves = answer === null ? 'nothing serves' : 'its agent answers';
  return `${deployment}: ${ended}; ${serves}${servesAsReported ? '' : ', but not the revision that the target reports'}`;
}
