import { expect, it } from 'vitest';

import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { JudgeDetails } from '../../../src/dashboard/promotions/judgement.tsx';
import { judgedReport, someTrials } from './judgedReport.ts';

it('shows effect size, interval and numbers of each metric, and a point for each run', () => {
  const html = renderText(<JudgeDetails report={judgedReport()} trials={someTrials()} />);
  expect(html).toContain('+12.0 %, between +4.0 % and +21.0 %');
  expect(html).toContain('95th percentile');
  expect(html).toContain('failed');
  const chart = /data-chart="([^"]+)"/.exec(html)?.[1]?.replaceAll('&quot;', '"') ?? '{}';
  const { baseline, candidate } = JSON.parse(chart) as Record<string, readonly unknown[]>;
  expect(baseline).toHaveLength(60);
  expect(candidate).toHaveLength(60);
  expect(html).toContain('The runs behind the points (120)');
});

it('draws the report’s percentiles if the runs are gone', () => {
  const html = renderText(<JudgeDetails report={judgedReport()} trials={[]} />);
  const chart = /data-chart="([^"]+)"/.exec(html)?.[1]?.replaceAll('&quot;', '"') ?? '{}';
  expect((JSON.parse(chart) as Record<string, unknown>)['baseline']).toHaveLength(21);
  expect(html).not.toContain('The runs behind');
});
