import { type JudgeReport, SIDES } from '../../domain/judge/report.ts';
import { basisOf, figuresOf, plotOf } from './figures.ts';
import { verdictSentence } from './textReport.ts';

/** The report as Markdown: for a pull request's comment, or a job's summary. */
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
    `${escaped(basisOf(report))}. Baseline ${escaped(sides.baseline.agentUrl)}, candidate ${escaped(sides.candidate.agentUrl)}, ${startedAt} to ${endedAt}.`,
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

/** What agents and people wrote must not become markup. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|~]/g, '\\$&').replaceAll(/\s+/g, ' ');
}
