import { describe, expect, it } from 'vitest';

import type { ErrorCode } from '../../../src/domain/errors.ts';
import { restoreInstructions } from '../../../src/domain/release/instructions.ts';
import type { KnownRevision } from '../../../src/domain/release/release.ts';
import type { TargetSpec } from '../../../src/domain/target/targetSpec.ts';
import { request } from '../target/targets.ts';

const TARGET: TargetSpec = { ...request('key').target, apiKey: { from: 'env:CONTROL_KEY' } };
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
    code: 'SLIPWAY_REVISION_FAILED',
    attempted: [],
    ...changes,
  });
}

describe('instructions', () => {
  it('name the target, the reason, and where to look', () => {
    expect(told()).toContain('Target "production" needs a person: nothing came up.');
    expect(told()).toContain('slipway status production');
    expect(told()).toContain(
      'curl -i -H "X-Api-Key: $CONTROL_KEY" "https://control.test/v2/deployments/deployment"',
    );
  });

  it('have the commands that restore the newest verified revision, with Slipway, and without Temporal or Slipway', () => {
    expect(told()).toContain('slipway rollback production --to new --reason');
    expect(told()).toContain('slipway rollback production --to new --break-glass --reason');
    expect(told()).toContain('slipway unhold production --reason');
    expect(told()).toContain(
      'curl -X POST -H "X-Api-Key: $CONTROL_KEY" https://control.test/v2/deployments/deployment/revisions/new/redeploy',
    );
  });

  it('of a serving revision that failed its checks lead to the cause, and to no other revision', () => {
    const text = told({ restored: 'new', code: 'SLIPWAY_CHECK_FAILED' });
    expect(text).toContain('Revision new serves');
    expect(text).toContain('slipway show latest production');
    expect(text).toContain('slipway release production --reason');
    expect(text).not.toContain('--to old');
    expect(text).not.toContain('redeploy');
  });

  it('of a preview lead to a push, because it refuses releases of other commands', () => {
    const target: TargetSpec = { ...TARGET, name: 'greeter-pr-7', preview: true };
    const known: KnownRevision[] = [{ revisionId: 'bad', verified: false, at }];
    for (const text of [told({ target, known }), told({ target, restored: 'new' })]) {
      expect(text).toContain('slipway preview --pr NUMBER --reason');
      expect(text).not.toContain('slipway release');
    }
    expect(told({ target, known })).toContain('slipway unhold greeter-pr-7 --reason');
  });

  it('name the key’s reference, never a key', () => {
    const inFile = told({ target: { ...TARGET, apiKey: { from: 'file:/run/secrets/key' } } });
    expect(inFile).toContain('"X-Api-Key: $(cat /run/secrets/key)"');
    const secret = 'sk-very-secret';
    const noReference = told({
      target: { ...TARGET, apiKey: { from: secret } },
      code: 'SLIPWAY_UNAUTHORIZED',
    });
    expect(noReference).toContain('X-Api-Key: $API_KEY');
    expect(noReference).not.toContain(secret);
  });

  it('use the tenant of the target', () => {
    const tenantId = '1b9e2f7c-7d5e-4f4e-8a53-111111111111';
    expect(told({ target: { ...TARGET, tenantId } })).toContain(
      `curl -X POST -H "X-Api-Key: $CONTROL_KEY" -H "X-Tenant-Id: ${tenantId}" https`,
    );
  });

  it('follow the newest verdict on each revision, and skip one that a person rolled back from', () => {
    const news: KnownRevision[] = [
      { revisionId: 'old', verified: true, at },
      { revisionId: 'new', verified: true, at },
      { revisionId: 'newest', verified: true, at, quarantined: true },
      { revisionId: 'new', verified: false, at },
    ];
    expect(told({ known: news })).toContain('--to old');
  });

  it('fall back to the baseline, and without one to a new release', () => {
    expect(told({ known: [], baseline: { revisionId: 'base', verified: false } })).toContain('--to base');
    expect(told({ known: [] })).toContain('release a good artifact');
    expect(told({ known: [] })).toContain('slipway release production --override-hold --reason');
    expect(told({ known: [] })).not.toContain('curl -X POST');
  });

  it('explain how to find an unknown deployment, and omit the call that needs it', () => {
    const text = told({ deploymentId: null });
    expect(text).toContain('slipway rollback production --to new');
    expect(text).toContain('"https://control.test/v2/deployments?name_contains=agent"');
    expect(text).not.toContain('curl -X POST');
    const named = told({ deploymentId: null, target: { ...TARGET, deploymentId: 'given' } });
    expect(named).toContain('/v2/deployments/given/revisions/new/redeploy');
  });

  it('prefer revisions that have not failed, and say that a failed one may work now', () => {
    expect(told({ attempted: ['new'] })).toContain('--to old');
    expect(told({ attempted: ['new', 'old'] })).toContain('Restore revision new, which failed before');
  });

  it.each<[ErrorCode | null, string, string]>([
    ['SLIPWAY_UNREACHABLE', 'no usable answer', 'deployments/deployment"'],
    ['SLIPWAY_WORKER_KILLED', 'no usable answer', 'deployments/deployment"'],
    ['SLIPWAY_UNAUTHORIZED', 'Give it one (env:CONTROL_KEY)', 'deployments/deployment"'],
    ['SLIPWAY_SECRET_MISSING', 'Give it one (env:CONTROL_KEY)', 'deployments/deployment"'],
    ['SLIPWAY_SECRET_REFUSED', 'file that SLIPWAY_SECRET_ORIGINS names', 'deployments/deployment"'],
    ['SLIPWAY_NOT_FOUND', 'rejects a redeploy', '/revisions?status=DEPLOYED"'],
    ['SLIPWAY_STEP_TIMED_OUT', 'not done in time', '/revisions/tried"'],
    ['SLIPWAY_REVISION_FAILED', 'was not deployed', '/revisions/tried"'],
    ['SLIPWAY_NOT_SERVING', 'was not deployed', '/revisions/tried"'],
    ['SLIPWAY_CHECK_FAILED', 'Revision tried was restored, serves, and failed its checks', '2. '],
    ['SLIPWAY_OUTCOME_UNKNOWN', 'may have been carried out', '/revisions?limit=5"'],
    ['SLIPWAY_NOTHING_TO_RESTORE', 'the one that failed may still serve', '2. '],
    [null, 'unknown what serves', 'deployments/deployment"'],
  ])('begin with the obstacle: %s', (code, words, place) => {
    const [, first = '', second = ''] = told({ code, attempted: ['tried'] }).split('\n');
    expect(first).toContain('1. ');
    expect(first).toContain(words);
    expect(second).toContain(place);
  });
});
