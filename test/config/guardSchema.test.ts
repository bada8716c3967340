import { describe, expect, it } from 'vitest';

import { promotionSettings } from '../../src/config/promotionSettings.ts';
import { releaseSettings, settingsProblem } from '../../src/config/releaseSettings.ts';
import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

const METRICS = `{
  errors: { prometheus: { url: https://prom.example/, query: 'sum(rate(errors{app="{deployment}"}[5m]))', token: { from: env:PROM } }, max: 0.05, risesBy: 20% },
  cost: { http: { url: 'https://m.example/{deployment}?from={from}&until={until}' }, fallsBy: 0.1, risesBy: 2 },
  helpful: { feedback: { key: helpful }, min: 0.8 }
}`;

const BY_NAME = `deployment: 'a "b"'`;
const BY_ID = 'deploymentId: 5b00b0a3-e580-43ec-bb2f-3bb5f70bec27';

function fileOf(guard: string, metrics = METRICS, target = '', found = BY_NAME): string {
  return `
targets:
  staging: { controlPlane: https://cp.example, apiKey: { from: env:KEY }, deployment: staging }
  production: { controlPlane: https://cp.example, apiKey: { from: env:KEY }, ${found}, guard: ${guard}${target} }
metrics: ${metrics}
promotions:
  up: { from: staging, to: production }
`;
}

function problems(guard: string, metrics?: string, target?: string, found?: string): string {
  return errorsIn(fileOf(guard, metrics, target, found));
}

describe('a guard in slipway.yaml', () => {
  it('asks all metrics each minute for its time, if it is a duration', () => {
    const settings = releaseSettings(parseConfig(fileOf('1h'), 'slipway.yaml', {}), 'production');
    expect(settings.guard).toMatchObject({
      forMs: 3_600_000,
      everyMs: 60_000,
      afterMs: 60_000,
      noData: 'continue',
      metrics: [
        {
          name: 'errors',
          source: {
            kind: 'prometheus',
            url: 'https://prom.example',
            query: 'sum(rate(errors{app="a \\"b\\""}[5m]))',
            token: { from: 'env:PROM' },
          },
          max: 0.05,
          risesBy: { by: 0.2, isRelative: true },
        },
        {
          name: 'cost',
          source: {
            kind: 'http',
            url: 'https://m.example/a%20%22b%22?from={from}&until={until}',
            path: 'value',
          },
          risesBy: { by: 2, isRelative: false },
          fallsBy: { by: 0.1, isRelative: false },
        },
        {
          name: 'helpful',
          source: {
            kind: 'feedback',
            url: 'https://cp.example',
            apiKey: { from: 'env:KEY' },
            project: 'a "b"',
            key: 'helpful',
            atLeast: 10,
          },
          min: 0.8,
        },
      ],
    });
    expect(settingsProblem(settings)).toBeUndefined();
  });

  it('asks named metrics at its own pace, and goes along with a promotion to its target', () => {
    const guard = '{ for: 2h, every: 30s, after: 5m, metrics: [helpful], noData: rollback, hold: false }';
    const { release } = promotionSettings(parseConfig(fileOf(guard), 'slipway.yaml', {}), 'up');
    expect(release.guard).toMatchObject({
      forMs: 7_200_000,
      everyMs: 30_000,
      afterMs: 300_000,
      noData: 'rollback',
      hold: false,
      metrics: [{ name: 'helpful' }],
    });
  });

  it('is none where the target has none', () => {
    const config = parseConfig(fileOf('1h'), 'slipway.yaml', {});
    expect(releaseSettings(config, 'staging').guard).toBeUndefined();
  });

  it.each([
    ['1h', '{}', /targets.production.guard: there is nothing to measure/],
    ['1h', manyMetrics(21), /targets.production.guard: has more than 20 metrics: name some/],
    [
      '{ metrics: [erors] }',
      undefined,
      /guard.metrics.0: slipway.yaml has no metric .* did you mean "errors"/,
    ],
    ['{ every: 100ms }', undefined, /guard.*every: expected at least 1s/],
    ['{ for: 1m, every: 2m }', undefined, /guard.*every: is longer than for/],
    ['{ for: 1m, after: 2m }', undefined, /guard.*after: is longer than for/],
    ['{ noData: stop }', undefined, /noData/],
    ['{ forever: true }', undefined, /forever/],
    ['1 hour', undefined, /guard: expected a duration/],
    ['1h', '{ a: { max: 1 } }', /metrics.a: expected one of prometheus, http and feedback/],
    ['1h', '{ a: { feedback: { key: k } } }', /metrics.a.max: expected max, min, risesBy or fallsBy/],
    ['1h', '{ a: { feedback: { key: k }, min: 2, max: 1 } }', /metrics.a.min: is above max/],
    ['1h', '{ a: { feedback: { key: k }, risesBy: lots } }', /metrics.a.risesBy: expected a number such as/],
    ['1h', '{ a: { feedback: { key: k }, risesBy: -1 } }', /metrics.a.risesBy: expected a number such as/],
    ['1h', '{ a: { http: { url: https://m.example }, risesBy: 1 } }', /metrics.a.http.url: expected {from}/],
    ['1h', '{ a: { http: { url: "ftp://m.example" }, max: 1 } }', /metrics.a.http.url: expected an http/],
    [
      '1h',
      '{ a: { http: { url: "https://u:p@m.example" }, max: 1 } }',
      /http.url: must not carry credentials/,
    ],
    [
      '1h',
      '{ a: { prometheus: { url: https://p.example, query: up, token: abc }, max: 1 } }',
      /token: expected/,
    ],
    [
      '1h',
      '{ a: { feedback: { key: k, url: https://t.example }, max: 1 } }',
      /metrics.a.feedback.apiKey: exp/,
    ],
  ])('is refused: %s with %s', (guard, metrics, expected) => {
    expect(problems(guard, metrics)).toMatch(expected);
  });

  it.each([
    ['{ a: { prometheus: { url: https://p.example, query: \'up{app="{deployment}"}\' }, max: 1 } }'],
    ['{ a: { feedback: { key: k }, max: 1 } }'],
  ])('needs the name of the deployment for %s', (metrics) => {
    expect(problems('1h', metrics, '', BY_ID)).toMatch(/targets.production.deployment: expected, because/);
    expect(problems('1h', metrics, `, ${BY_NAME}`, BY_ID)).toBe('');
  });

  it('needs no name of the deployment for metrics without it', () => {
    const metrics = '{ a: { feedback: { key: k, project: p }, max: 1 } }';
    expect(problems('1h', metrics, '', BY_ID)).toBe('');
  });

  it('needs the address of the tracing service for the public vocabulary', () => {
    expect(problems('1h', '{ a: { feedback: { key: k }, max: 1 } }', ', vocabulary: public')).toMatch(
      /metrics.a.feedback.url: expected, because/,
    );
  });
});

function manyMetrics(count: number): string {
  const metrics = Array.from({ length: count }, (_, n) => `m${n}: { feedback: { key: k }, max: 1 }`);
  return `{ ${metrics.join(', ')} }`;
}
