import { describe, expect, it } from 'vitest';

import { commentMarker, commentText } from '../../../src/domain/preview/commentText.ts';
import { newPreview, type PreviewSpec, type PreviewState } from '../../../src/domain/preview/preview.ts';
import { releaseRequest } from '../../workflows/requests.ts';

const { target, recordStore } = releaseRequest('world', 'a');
const SPEC: PreviewSpec = {
  name: 'pull-request',
  pr: 7,
  ttlMs: 60_000,
  recordStore,
  target: { ...target, deployment: 'greeter-pr-7' },
};
const STATE = newPreview(Date.UTC(2026, 0, 1), 60_000);
const LAST: PreviewState['last'] = {
  releaseId: 'release-2',
  commit: '0123456789abcdef',
  outcome: 'rolled_back',
  reason: 'a check failed',
  verdicts: [
    { check: 'greets', passed: true, reasons: [], scored: 'tone 0.9' },
    { check: 'is brief', passed: false, reasons: ['the answer has | 900 words', 'ask @ada'] },
  ],
};

describe('the comment of a preview', () => {
  it('says how the agent compares with what serves on the target that the preview copies', () => {
    const judged = (verdict: 'failed' | null, reason: string): string =>
      commentText(
        SPEC,
        { ...STATE, last: { ...LAST, judgement: { baseline: 'staging', verdict, reasons: [reason] } } },
        null,
      );
    expect(judged('failed', 'success fell by 12 %')).toContain(
      '\n- against what serves on staging: **failed**, success fell by 12 %\n',
    );
    expect(judged(null, 'nothing serves on staging')).toContain('**not judged**, nothing serves on staging');
  });

  it('begins with its marker', () => {
    expect(commentText(SPEC, STATE, null).startsWith(commentMarker(SPEC))).toBe(true);
    expect(
      commentText(SPEC, STATE, { removed: 'deleted', reason: 'closed' }).startsWith(commentMarker(SPEC)),
    ).toBe(true);
  });

  it('has the running release, the agent’s address, the deadline, and the checks', () => {
    const release = { releaseId: 'release-3', commit: 'fedcba9876543210', submissions: [] };
    expect(commentText(SPEC, { ...STATE, release, last: LAST, agentUrl: 'http://agent.test' }, null)).toBe(
      [
        '<!-- slipway-preview pull-request greeter-pr-7 -->',
        '### Preview `greeter-pr-7` (pull-request)',
        '',
        '**Releasing** release-3 (`fedcba987654`).',
        '',
        '- address: http://agent.test',
        '- expires: 2026-01-01 00:01:00Z, or later with the next push',
        '- release-2 (`0123456789ab`): **rolled back**, a check failed',
        '',
        '| check | verdict |',
        '|---|---|',
        '| greets | ✅ passed, scored tone 0.9 |',
        '| is brief | ❌ the answer has \\| 900 words; ask @\u200Bada |',
      ].join('\n'),
    );
  });

  it('has the reason of its removal', () => {
    const text = commentText(SPEC, STATE, {
      removed: 'deleted',
      reason: 'its deadline passed; it was deleted',
    });
    expect(text).toContain('**Removed.** its deadline passed; it was deleted');
    expect(text).not.toContain('expires');
  });

  it('fits GitHub’s limit with any number of checks', () => {
    const verdict = { check: 'x'.repeat(5_000), passed: false, reasons: ['<img src=x>'.repeat(1_000)] };
    const last = { ...LAST, verdicts: Array.from({ length: 500 }, () => verdict) };
    const text = commentText(SPEC, { ...STATE, last }, null);
    expect(text.length).toBeLessThan(65_536);
    expect(text).not.toContain('<img');
  });
});
