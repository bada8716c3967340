import type { TargetSeen } from '../../../src/domain/promotion/candidate.ts';

export const A = `sha256:${'a'.repeat(64)}`;
export const B = `sha256:${'b'.repeat(64)}`;
export const HOLD = { since: '2026-11-15T00:00:00.000Z', by: { who: 'bo', from: 'cli', reason: 'incident' } };

/** A target that serves a verified revision. */
export function seen(name: string, artifact: string, changes: Partial<TargetSeen> = {}): TargetSeen {
  return {
    name,
    known: true,
    hold: null,
    running: null,
    artifact,
    newer: [],
    commit: 'c0ffee',
    releasedBy: { who: 'ada', from: 'cli' },
    activeRevisionId: `${name}-1`,
    servingRevisionId: `${name}-1`,
    changedBy: null,
    deploymentId: 'd',
    quarantined: [],
    agentUrl: 'http://agent.test',
    verifiedAt: '2026-11-10T00:00:00.000Z',
    ...changes,
  };
}
