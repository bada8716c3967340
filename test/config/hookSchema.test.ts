import { describe, expect, it } from 'vitest';

import { lintText } from '../../src/config/loadConfig.ts';
import { fileOf } from '../hooks/hookRequests.ts';
import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

describe('hooks in slipway.yaml', () => {
  it('have durations in milliseconds, and act on firing alerts', () => {
    const on = `[{
      name: worse, match: { labels.alertname: X, labels.severity: { matches: "^p" } }, do: rollback, targets: [production],
      ifYoungerThan: 1h, ifRevision: labels.revision, atLeast: { count: 3, within: 10m }, atMostOnePer: 6h,
      approvalBetween: { from: "22:00", until: "07:00", timeZone: Europe/Berlin }, hold: false
    }]`;
    const { hooks } = parseConfig(fileOf('grafana', on), 'slipway.yaml', {});
    expect(hooks['told']?.on).toMatchObject([
      {
        status: 'firing',
        ifYoungerThan: 3_600_000,
        atLeast: { count: 3, within: 600_000 },
        atMostOnePer: 21_600_000,
        approvalBetween: { within: 3_600_000 },
      },
    ]);
  });

  it.each([
    [
      '[{ name: a, do: hold, targets: [prodution] }]',
      /targets.0: slipway.yaml has no target of that name; did you mean "production"/,
    ],
    [
      '[{ name: a, do: hold, targets: [production], atMostOnePer: 0s }]',
      /on.0.atMostOnePer: expected more than 0s/,
    ],
    ['[{ name: a, do: hold }]', /on.0.targets: expected, for do: hold/],
    ['[{ name: a, do: promotion }]', /on.0.promotion: expected, for do: promotion/],
    [
      '[{ name: a, do: promotion, promotion: down }]',
      /promotion: slipway.yaml has no promotion of that name/,
    ],
    ['[{ name: a, do: promotion, promotion: up, targets: [production] }]', /targets: not for do: promotion/],
    ['[{ name: a, do: hold, targets: [production], hold: false }]', /hold: only for do: rollback/],
    ['[{ name: a, do: hold, targets: [production], promotion: up }]', /promotion: only for do: promotion/],
    ['[{ name: a, do: hold, targets: [production], atLeast: { count: 1, within: 1m } }]', /atLeast.count/],
    ['[{ name: a, do: hold, targets: [production], match: { x: { matches: "(" } } }]', /match/],
    [
      '[{ name: a, do: hold, targets: [production], approvalBetween: { from: "22:00", until: "Fri 07:00" } }]',
      /until: expected a moment of the same kind/,
    ],
    ['[{ name: a, do: hold, targets: [production], ifOlderThan: 1h }]', /ifOlderThan/],
    [
      '[{ name: a, do: hold, targets: [production] }, { name: a, do: abort, targets: [production] }]',
      /on.1.name/,
    ],
    ['[]', /on/],
  ])('are rejected with the field: %s', (on, problem) => {
    expect(errorsIn(fileOf('alertmanager', on))).toMatch(problem);
  });

  it('are rejected with an unknown form', () => {
    expect(errorsIn(fileOf('pagerduty'))).toContain('hooks.told.form: ');
  });

  it.each([
    ['do: release, targets: [staging, production]', 'targets.1', 'slipway release production'],
    ['do: promotion, promotion: up', 'promotion', 'slipway promote up'],
  ])('cannot release on a target that requires proof of identity: %s', (rule, field, command) => {
    const [problem, ...more] = lintText(proving(`[{ name: a, ${rule} }]`), 'slipway.yaml', {}).problems;
    expect(problem).toMatchObject({ severity: 'error', path: `hooks.told.on.0.${field}`, line: 8 });
    expect(problem?.message).toBe(
      `"production" has approval.identity, and an event cannot prove who asks: remove the rule, and have a person run "${command}"`,
    );
    expect(more).toEqual([]);
  });

  it.each(['rollback', 'hold', 'abort'])('can %s a target that requires proof of identity', (action) => {
    const file = proving(`[{ name: a, do: ${action}, targets: [production] }]`);
    expect(lintText(file, 'slipway.yaml', {}).problems).toEqual([]);
  });
});

/** A file whose target `production` requires proof of identity. */
function proving(on: string): string {
  return fileOf('generic', on).replace(
    'deployment: agent }',
    'deployment: agent, approval: { identity: oidc } }',
  );
}
