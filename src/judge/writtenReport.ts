import { exactText } from '../domain/scalars.ts';
import { type MetricComparison, METRICS } from '../domain/judge/metric.ts';
import { type JudgeReport, type MetricReport, type Side, SIDES } from '../domain/judge/report.ts';
import { changeText } from '../domain/judge/verdict.ts';

/** A line of a report. `about` selects its color on a terminal. */
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

/** The report as lines for a terminal. */
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

function verdictSentence({ verdict }: JudgeReport): string {
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

/** The report as Markdown, for a pull request's comment or a job's summary. */
export function markdownReport(report: JudgeReport): string {
  const { sides, startedAt, endedAt } = report;
  return [
    `## Judge: ${escaped(verdictSentence(report))}`,
    '',
    ...report.reasons.map((reason) => `- ${escaped(reason)}`),
    '',
    '| metric | baseline | candidate | change (bounds) | matters from | verdict |',
    '| --- | --- | --- | --- | --- | --- |',
    ...figuresOf(report).map(
      ({ metric, baseline, candidate, change, limit, verdict }) =>
        `| ${[metric, baseline, candidate, change, limit, verdict].map(escaped).join(' | ')} |`,
    ),
    '',
    ...plots(report),
    ...SIDES.flatMap((side) => {
      const { failures } = sides[side];
      if (failures.length === 0) return [];
      return [
        `What went wrong on the ${side}:`,
        '',
        ...failures.map(({ reason, runs }) => `- ${runs} × ${escaped(reason)}`),
        '',
      ];
    }),
    `${escaped(basisOf(report))}. Baseline ${escaped(sides.baseline.agentUrl)}, candidate ${escaped(sides.candidate.agentUrl)}, ${exactText(startedAt)} to ${exactText(endedAt)}.`,
    '',
  ].join('\n');
}

function plots(report: JudgeReport): string[] {
  const drawn = report.metrics.flatMap((metric) => {
    const plot = plotOf(metric);
    if (plot === null) return [];
    const { metric: name } = metric.comparison;
    return SIDES.map((side) => `${name.padEnd(12)} ${side.padEnd(9)} |${plot[side]}|`);
  });
  return drawn.length === 0 ? [] : ['```', ...drawn, '```', ''];
}

/** Escapes texts of agents and people, so that they do not become markup. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|~]/g, '\\$&').replaceAll(/[\s\p{Cc}]+/gu, ' ');
}

interface MetricFigures {
  readonly metric: string;
  readonly baseline: string;
  readonly candidate: string;
  /** The change with its bounds. */
  readonly change: string;
  /** The smallest relevant effect; a dash if the metric decides nothing. */
  readonly limit: string;
  readonly verdict: string;
}

const NOTHING = '–';
const MEDIAN = 10;

function figuresOf({ metrics }: JudgeReport): MetricFigures[] {
  return metrics.map(({ comparison, smallestEffect, verdict }) => ({
    metric: comparison.metric,
    ...sidesOf(comparison),
    change: changeOf(comparison),
    limit: smallestEffect === null ? NOTHING : changeText(comparison.metric, smallestEffect),
    verdict: verdict ?? NOTHING,
  }));
}

/** The basis of the verdict in one sentence: the runs, the confidence and the seed. */
function basisOf({ inputs, sides, policy, seed }: JudgeReport): string {
  const { count, repetitions, from } = inputs;
  const runs = `${sides.baseline.runs} runs of the baseline and ${sides.candidate.runs} of the candidate`;
  const confidence = Number((policy.confidence * 100).toPrecision(4));
  return `${runs}: ${count} inputs of ${from}, ${repetitions} each; every bound at ${confidence} %; seed ${seed}`;
}

/** The distributions of both sides, one character per bin of the histogram; `null` for a rate. */
function plotOf({ comparison }: MetricReport): { baseline: string; candidate: string } | null {
  if (comparison.kind === 'rate' || comparison.histogram === null) return null;
  const { baseline, candidate } = comparison.histogram;
  return { baseline: bars(baseline), candidate: bars(candidate) };
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

function bars(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  const bar = (count: number): string =>
    count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] ?? ' ');
  return counts.map(bar).join('');
}

function sidesOf(comparison: MetricComparison): { baseline: string; candidate: string } {
  if (comparison.kind === 'rate') {
    const share = ({ held, runs }: { held: number; runs: number }): string =>
      runs === 0 ? NOTHING : `${((held / runs) * 100).toFixed(1)} % (${held}/${runs})`;
    return { baseline: share(comparison.baseline), candidate: share(comparison.candidate) };
  }
  const { unit } = METRICS[comparison.metric];
  const median = (side: typeof comparison.baseline): string => {
    const value = side?.quantiles[MEDIAN];
    return value === undefined ? NOTHING : `${rounded(value)}${unit === 'ms' ? ' ms' : ''}`;
  };
  return { baseline: median(comparison.baseline), candidate: median(comparison.candidate) };
}

function changeOf({ metric, change }: MetricComparison): string {
  if (change === null) return NOTHING;
  const bound = (value: number | null): string => (value === null ? 'open' : signed(metric, value));
  return `${signed(metric, change.estimate)} (${bound(change.lower)} to ${bound(change.upper)})`;
}

function signed(metric: MetricComparison['metric'], change: number): string {
  const text = changeText(metric, change);
  return change > 0 ? `+${text}` : text;
}

function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
