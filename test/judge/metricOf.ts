import type { JudgeReport, MetricReport } from '../../src/domain/judge/report.ts';

export function metricOf(report: JudgeReport, name: string): MetricReport | undefined {
  return report.metrics.find(({ comparison }) => comparison.metric === name);
}
