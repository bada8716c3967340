import { describe, expect, it } from 'vitest';

import { restoreInstructions } from '../../src/domain/instructions.ts';
import { type KnownRevision } from '../../src/domain/release.ts';
import { type TargetSpec } from '../../src/domain/targetSpec.ts';

const TARGET: TargetSpec = {
  name: 'production',
  controlPlane: 'https://control.test',
  apiKey: { from: 'env:CONTROL_KEY' },
  deployment: 'agent',
  source: 'internal_source',
  sourceConfig: {},
};
const at = '2026-01-01T00:00:00.000Z';

function told(changes: Partial<Parameters<typeof restoreInstructions>[0]> = {}): string {
  return restoreInstructions({
    target: TARGET,
    deploymentId: 'deployment',
    baseline: null,
    known: [
      { revisionId: 'old', verified: true, at },
      { revisionId: 'new', verified: true, at },
      { revisionId: 'bad', verified: false, at },
    ],
    reason: 'nothing came up',
    ...changes,
  });
}

describe('instructions', () => {
  it('name the target, the reason, and where to look', () => {
    expect(told()).toContain('Target "production" needs a person: nothing came up.');
    expect(told()).toContain('slipway status production');
    expect(told()).toContain('GET https://control.test/v2/deployments/deployment');
  });

  it('give the commands that put the newest verified revision back, with and without Slipway', () => {
    expect(told()).toContain('slipway rollback production --to new --reason');
    expect(told()).toContain(
      'curl -X POST -H "X-Api-Key: $CONTROL_KEY" https://control.test/v2/deployments/deployment/revisions/new/redeploy',
    );
  });

  it('name the variable that holds the key, never a key', () => {
    const secret = 'sk-very-secret';
    for (const from of [secret, `file:/run/secrets/key`]) {
      const text = told({ target: { ...TARGET, apiKey: { from } } });
      expect(text).toContain('X-Api-Key: $API_KEY');
      expect(text).not.toContain(secret);
    }
  });

  it('go by the newest word on each revision, and leave out what a person rolled back from', () => {
    const news: KnownRevision[] = [
      { revisionId: 'old', verified: true, at },
      { revisionId: 'new', verified: true, at },
      { revisionId: 'newest', verified: true, at, quarantined: true },
      { revisionId: 'new', verified: false, at },
    ];
    expect(told({ known: news })).toContain('--to old');
  });

  it('fall back on the baseline, and without one on a new release', () => {
    expect(told({ known: [], baseline: { revisionId: 'base', verified: false } })).toContain('--to base');
    expect(told({ known: [] })).toContain('release a good artifact');
    expect(told({ known: [] })).not.toContain('curl');
  });

  it('leave the curl out where the deployment is not known', () => {
    const text = told({ deploymentId: null });
    expect(text).toContain('slipway rollback production --to new');
    expect(text).not.toContain('curl');
  });
});
