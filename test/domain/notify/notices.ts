import type { Notice, SentNotice } from '../../../src/domain/notify/notice.ts';
import { ADA, NOW } from '../target/targets.ts';

export const COMMIT = 'c0ffee'.padEnd(40, '0');

/** A notice. Default: of a release that is released. */
export function notice(changes: Partial<Notice> = {}): Notice {
  return {
    version: 1,
    id: '5c0c7a39-9f7b-4a5e-8a43-7d2f0f3d1a11',
    at: NOW,
    event: 'released',
    target: 'production',
    targetId: 'target:https://control.test:agent',
    kind: 'release',
    name: 'release-3',
    outcome: 'released',
    reason: 'revision r3 is deployed, serves, and passed its checks',
    code: null,
    instructions: null,
    artifact: 'sha256:5068ba98bbac',
    commit: COMMIT,
    revisionId: 'r3',
    servingRevisionId: 'r3',
    servingCommit: COMMIT,
    by: ADA,
    ...changes,
  };
}

/** The same as it is sent. Default: without a link to a page. */
export function sentNotice(changes: Partial<SentNotice> = {}): SentNotice {
  return { ...notice(changes), dashboardUrl: null, ...changes };
}
