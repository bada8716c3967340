import { describe, expect, it } from 'vitest';

import { lintText } from '../../src/config/loadConfig.ts';
import { promotionSettings } from '../../src/config/promotionSettings.ts';
import { releaseSettings } from '../../src/config/releaseSettings.ts';
import { parseConfig } from './parseConfig.ts';

const TARGETS = `targets:
  canary:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deployment: greeter
  production: { controlPlane: http://localhost:8000, apiKey: { from: env:K }, deployment: greeter-live }
promotions:
  up: { from: canary, to: production }
`;

const GITHUB = 'name: a, kind: github_status, token: { from: env:T }';

function withReceivers(...receivers: readonly string[]): string {
  return `${TARGETS}notify:\n${receivers.map((receiver) => `  - { ${receiver} }\n`).join('')}`;
}

const RIGHT = withReceivers(
  'name: ops, kind: slack, url: { from: env:SLACK_URL }, events: [released, errored], targets: [production]',
  'name: audit, kind: webhook, url: { from: env:AUDIT_URL }, secret: { from: "file:/run/audit" }',
  'name: github, kind: github_deployment, token: { from: env:T }, environment: live',
  'name: status, kind: github_status, token: { from: env:T }, apiUrl: "https://GHE.example/api/v3/", repository: o/n',
);

describe('the receivers of a release', () => {
  const config = parseConfig(RIGHT, 'slipway.yaml');

  it('are those of its target, with references instead of secrets', () => {
    const token = { from: 'env:T' };
    const github = { name: 'github', apiUrl: 'https://api.github.com', token };
    const status = { name: 'status', apiUrl: 'https://ghe.example/api/v3', token };
    expect(releaseSettings(config, 'production').notify).toEqual([
      { kind: 'slack', name: 'ops', events: ['released', 'errored'], url: { from: 'env:SLACK_URL' } },
      { kind: 'webhook', name: 'audit', url: { from: 'env:AUDIT_URL' }, secret: { from: 'file:/run/audit' } },
      { kind: 'github_deployment', ...github, environment: 'live' },
      { kind: 'github_status', ...status, repository: 'o/n' },
    ]);
    const names = releaseSettings(config, 'canary').notify?.map(({ name }) => name);
    expect(names).toEqual(['audit', 'github', 'status']);
  });

  it('are those of a promotion’s target', () => {
    expect(promotionSettings(config, 'up').release.notify?.map(({ name }) => name)).toContain('ops');
  });

  it('are absent if there are none, so that older requests stay the same', () => {
    const settings = releaseSettings(parseConfig(withReceivers().replace('notify:\n', ''), 'x'), 'canary');
    expect(settings.notify).toBeUndefined();
  });
});

describe('a problem of the receivers has its place', () => {
  it.each([
    ['name: a, kind: slack', 'notify.0.url: expected, for kind slack'],
    ['name: a, kind: webhook, url: { from: env:U }', 'notify.0.secret: expected, for kind webhook'],
    [`${GITHUB}, environment: x`, 'notify.0.environment: not for kind github_status'],
    ['name: a, kind: slak', 'notify.0.kind: expected one of'],
    [`${GITHUB}, events: [relesed]`, 'did you mean "released"?'],
    [`${GITHUB}, targets: [produktion]`, 'has no target of that name; did you mean "production"?'],
    [`${GITHUB}, repository: name`, 'notify.0.repository: expected owner/name'],
    ['', 'notify.0'],
  ])('{ %s }: %s', (receiver, problem) => {
    const told = lintText(withReceivers(receiver)).problems.map(({ path, message }) => `${path}: ${message}`);
    expect(told.join('\n')).toContain(problem);
  });

  it('a URL in the file, which is not shown again', () => {
    const { problems } = lintText(
      withReceivers('name: a, kind: slack, url: { from: "https://hooks.test/T0/secret" }'),
    );
    expect(problems).toMatchObject([
      { path: 'notify.0.url.from', message: expect.stringContaining('env:NAME') },
    ]);
    expect(JSON.stringify(problems)).not.toContain('T0/secret');
    const bare = lintText(withReceivers('name: a, kind: slack, url: "https://hooks.test/T0/secret"'));
    expect(bare.problems.length).toBeGreaterThan(0);
    expect(JSON.stringify(bare.problems)).not.toContain('T0/secret');
  });

  it('an event without effect, because it is never reported to GitHub', () => {
    const { config, problems } = lintText(withReceivers(`${GITHUB}, events: [released, hold_set]`));
    expect(config).toBeDefined();
    expect(problems).toMatchObject([
      { severity: 'warning', path: 'notify.0.events.1', message: expect.stringContaining('no effect') },
    ]);
  });

  it('a duplicate name', () => {
    const { problems } = lintText(withReceivers(GITHUB, GITHUB));
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'notify.1.name: two receivers are named "a": rename one',
    ]);
  });

  it('a value that is not a list', () => {
    expect(lintText(withReceivers().replace('notify:\n', 'notify: ops\n')).problems[0]?.path).toBe('notify');
  });
});
