import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { PLATFORM_METRICS } from '../../packages/platform/src/metrics/metrics.ts';
import { METRICS } from '../../src/domain/metrics/metrics.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const read = (name: string): string => readFileSync(`${DEPLOY}${name}`, 'utf8');

const promtool = (...args: string[]) =>
  spawnSync('promtool', args, { encoding: 'utf8', cwd: `${DEPLOY}prometheus` });
/** It is in Debian's package `prometheus`. */
const hasPromtool = promtool('--version').status === 0;

describe.skipIf(!hasPromtool)('the alert rules, by promtool (skipped if it is not installed)', () => {
  it('are valid', () => {
    const { status, stdout, stderr } = promtool('check', 'rules', 'alerts.yml');
    expect(status, `${stdout}${stderr}`).toBe(0);
  });

  it('are loaded by the configuration beside them', () => {
    const { status, stdout, stderr } = promtool('check', 'config', 'prometheus.yml');
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain('rules found');
  });

  it('alert in exactly the expected cases', () => {
    const { status, stdout, stderr } = promtool('test', 'rules', 'alerts.test.yml');
    expect(status, `${stdout}${stderr}`).toBe(0);
  });
});

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}
const rules = (parse(read('prometheus/alerts.yml')) as Rules).groups.flatMap((group) => group.rules);

/** Every name of Slipway's metrics in Prometheus. */
const NAMES = new Set(
  Object.entries({ ...METRICS, ...PLATFORM_METRICS }).flatMap(([name, { kind }]) => {
    if (kind === 'counter') return [`${name}_total`];
    return kind === 'gauge' ? [name] : ['_bucket', '_sum', '_count'].map((suffix) => name + suffix);
  }),
);

const namesIn = (text: string): readonly string[] => text.match(/\bslipway_[a-z_]+/g) ?? [];

describe('the alert rules and the dashboard', () => {
  it.each(['prometheus/alerts.yml', 'prometheus/alerts.test.yml', 'grafana/slipway.json'])(
    '%s names only existing metrics',
    (file) => {
      const names = namesIn(read(file));
      expect(names.length).toBeGreaterThan(5);
      expect(names.filter((name) => !NAMES.has(name))).toEqual([]);
    },
  );

  it('every rule has a test', () => {
    const tested = read('prometheus/alerts.test.yml');
    expect(rules.filter(({ alert }) => !tested.includes(`alertname: ${alert}\n`))).toEqual([]);
  });
});

it('Prometheus scrapes the addresses at which docker-compose.yml serves metrics', () => {
  const { scrape_configs: jobs } = parse(read('prometheus/prometheus.yml')) as {
    readonly scrape_configs: readonly {
      readonly static_configs: readonly { targets: readonly string[] }[];
    }[];
  };
  const { services } = parse(read('../docker-compose.yml'), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, string>> }>>;
  };
  const served = Object.entries(services).flatMap(([name, { environment = {} }]) => {
    const address = environment['SLIPWAY_METRICS_ADDRESS'];
    return address === undefined ? [] : [address.replace('0.0.0.0', name)];
  });
  const scraped = jobs.flatMap((job) => job.static_configs.flatMap(({ targets }) => targets));
  expect(scraped.sort()).toEqual(served.sort());
});
