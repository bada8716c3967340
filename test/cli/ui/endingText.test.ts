import { describe, expect, it } from 'vitest';

import { endingExitCode, endingLines } from '../../../src/cli/ui/endingText.ts';
import { styleOf } from '../../../src/cli/ui/text.ts';
import type { Outcome } from '../../../src/domain/release/outcome.ts';
import type { RollbackRequest } from '../../../src/domain/release/release.ts';
import type { HistoryRow } from '../../../src/domain/target/targetState.ts';
import { sampleResult } from './sampleProgress.ts';

const plain = styleOf(false);
const preemptedBy: RollbackRequest = { requestId: 'r', requestedBy: { who: 'ada', from: 'cli' } };

describe('the exit code of an outcome', () => {
  it.each<[Outcome, number]>([
    ['aborted', 4],
    ['failed', 2],
  ])('is that of success for a rollback that a release settled which ended %s', (outcome, exitCode) => {
    const result = sampleResult({ outcome });
    expect(endingExitCode('rollback', { from: 'result', result })).toBe(0);
    expect(endingExitCode('release', { from: 'result', result })).toBe(exitCode);
    const nothingToRestore = sampleResult({ kind: 'rollback', outcome: 'failed' });
    expect(endingExitCode('rollback', { from: 'result', result: nothingToRestore })).toBe(2);
  });
});

describe('the exit code of a rollback that did not reach the named revision', () => {
  const code = 'SLIPWAY_REVISION_NOT_REACHED';

  it('is 2, from the result or only its row', () => {
    const result = sampleResult({ outcome: 'rolled_back', code, preemptedBy });
    expect(endingExitCode('rollback', { from: 'result', result })).toBe(2);
    const row = { releaseId: 'rollback-3', outcome: 'rolled_back', code } as HistoryRow;
    expect(endingExitCode('rollback', { from: 'history', row })).toBe(2);
  });
});

const NOWHERE = { dashboardUrl: null, workflowUrl: null };

describe('an outcome, in lines', () => {
  it('shows what serves and where to look', () => {
    const links = { dashboardUrl: 'https://page/x', workflowUrl: 'http://ui/x' };
    const lines = endingLines('release', { from: 'result', result: sampleResult({}) }, links, plain);
    expect(lines).toEqual([
      '✔ released in 12.3s (release-1): it serves',
      '  serves:     revision revision-2, verified',
      '  agent:      http://agent',
      '  page:       https://page/x',
      '  Temporal:   http://ui/x',
    ]);
  });

  it('names the created revision that does not serve, and what a person must do', () => {
    const result = sampleResult({
      outcome: 'rollback_failed',
      servingRevisionId: null,
      agentUrl: null,
      instructions: 'do this',
    });
    const lines = endingLines('release', { from: 'result', result }, NOWHERE, plain);
    expect(lines[0]).toMatch(/^✖ rollback failed/);
    expect(lines.slice(1)).toEqual(['  made:       revision revision-2', '', 'do this']);
  });

  it('shows what is known of a release that never started', () => {
    const row = { releaseId: 'release-3', outcome: 'superseded', reason: 'by release-4' } as HistoryRow;
    expect(endingLines('release', { from: 'history', row }, NOWHERE, plain)).toEqual([
      '✖ superseded (release-3): by release-4',
    ]);
  });
});
