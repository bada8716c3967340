import { type JudgeReport, type Side, SIDES } from '../../domain/judge/report.ts';
import { basisOf, figuresOf, type MetricFigures, plotOf } from './figures.ts';

/** A line of a report; `about` says what a terminal may color it by. */
export interface ReportLine {
  readonly text: string;
  readonly about: 'verdict' | 'passed' | 'failed' | 'inconclusive' | 'plain' | 'faint';
}

const HEADING: MetricFigures = {
  metric: 'metric',
  baseline: 'baseline',
  candidate: 'candidate',
  change: 'change (bounds)',
  limit: 'matters from',
  verdict: 'verdict',
};

/** The report as lines for a terminal: the verdict, why, a table, how latencies are distributed, and what went wrong. */
export function textReport(report: JudgeReport): ReportLine[] {
  const lines: ReportLine[] = [{ text: verdictSentence(report), about: 'verdict' }];
  for (const reason of report.reasons) lines.push({ text: `  ${reason}`, about: 'plain' });
  lines.push({ text: '', about: 'plain' }, ...tableOf(report));
  for (const metric of report.metrics) {
    const plot = metric.comparison.metric === 'latency' ? plotOf(metric) : null;
    if (plot === null) continue;
    lines.push({ text: '', about: 'plain' });
    for (const side of SIDES)
      lines.push({ text: `  latency ${side.padEnd(9)} |${plot[side]}|`, about: 'plain' });
  }
  for (const side of SIDES) lines.push(...failuresOf(report, side));
  lines.push({ text: '', about: 'plain' }, { text: `  ${basisOf(report)}`, about: 'faint' });
  return lines;
}

/** The verdict as a sentence. */
export function verdictSentence({ verdict }: JudgeReport): string {
  switch (verdict) {
    case 'passed':
      return 'passed: the candidate is no worse than the baseline';
    case 'failed':
      return 'failed: the candidate is worse than the baseline';
    case 'inconclusive':
      return 'inconclusive: the runs do not show whether the candidate is worse';
    case 'errored':
      return 'errored: the judge could not run, so there is no verdict on the candidate';
  }
}

function tableOf(report: JudgeReport): ReportLine[] {
  const rows = figuresOf(report);
  const columns = Object.keys(HEADING) as (keyof MetricFigures)[];
  const widths = columns.map((column) => Math.max(...[HEADING, ...rows].map((row) => row[column].length)));
  const line = (row: MetricFigures): string =>
    `  ${columns.map((column, index) => row[column].padEnd(widths[index] ?? 0)).join('  ')}`.trimEnd();
  return [
    { text: line(HEADING), about: 'faint' },
    ...rows.map((row, index) => ({
      text: line(row),
      about: report.metrics[index]?.verdict ?? ('faint' as const),
    })),
  ];
}

function failuresOf({ sides }: JudgeReport, side: Side): ReportLine[] {
  const { failures, repeated, feedback } = sides[side];
  const lines = failures.map(({ reason, runs }) => `    ${runs} × ${reason}`);
  if (repeated > 0) lines.push(`    ${repeated} × run again, because the agent did not answer`);
  if (feedback.lost > 0) lines.push(`    ${feedback.lost} × the verdict could not be recorded as feedback`);
  if (lines.length === 0) return [];
  return ['', `  what went wrong on the ${side}:`, ...lines].map((text) => ({
    text,
    about: 'plain' as const,
  }));
}
