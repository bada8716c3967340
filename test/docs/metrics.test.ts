import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { PLATFORM_METRICS } from '../../packages/platform/src/metrics/metrics.ts';
import { PAGE_METRICS } from '../../src/dashboard/metrics/pageMetrics.ts';
import { METRICS } from '../../src/domain/metrics/metrics.ts';
import { type DocumentedMetric, metricRow, withoutPadding } from './metricsTable.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/metrics.md');

describe('docs/metrics.md', () => {
  it('has exactly the metrics, each with its type, its unit, its labels and their bounds', () => {
    const rows = page
      .split('\n')
      .filter((line) => line.startsWith('| `slipway_'))
      .map(withoutPadding);
    const all = Object.entries<DocumentedMetric>({ ...METRICS, ...PLATFORM_METRICS, ...PAGE_METRICS });
    expect(rows).toEqual(all.map(([name, metric]) => metricRow(name, metric)));
  });

  it('shows the configuration of Prometheus in deploy/', () => {
    expect(page).toContain(`# deploy/prometheus/prometheus.yml\n${read('deploy/prometheus/prometheus.yml')}`);
  });

  it('explains exactly the alerts', () => {
    const { groups } = parse(read('deploy/prometheus/alerts.yml')) as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
    };
    const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    const explained = [...page.matchAll(/^\| `(Slipway\w+)`/gm)].map(([, name]) => name);
    expect(explained).toEqual(alerts);
  });
});
