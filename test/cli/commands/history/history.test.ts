import { describe, expect, it } from 'vitest';

import { historyLines, printHistory } from '../../../../src/cli/commands/history/history.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import type { PastRelease } from '../../../../src/domain/release/pastRelease.ts';
import { past } from '../../../domain/target/targets.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');

function screen(columns = Infinity, colored = false) {
  return { now: NOW, style: styleOf(colored), columns };
}

function made(change: Partial<PastRelease>): PastRelease {
  return past('release-1', {
    reason: 'it serves',
    startedAt: '2026-11-21T12:07:00.000Z',
    endedAt: '2026-11-21T12:08:00.000Z',
    artifact: `sha256:${'5068ba98bbac'.padEnd(64, '0')}`,
    commit: `${'fdd35b8fbd74'.padEnd(40, '0')}-dirty`,
    requestedBy: { who: 'ada', from: 'cli', reason: 'faster' },
    ...change,
  });
}

const RELEASES = [
  made({ releaseId: 'release-12', outcome: 'running', endedAt: null, reason: null }),
  made({ releaseId: 'rollback-11', kind: 'rollback', outcome: 'rolled_back', artifact: null, commit: null }),
  made({ releaseId: 'release-10', outcome: 'rolled_back', endedAt: '2026-11-10T12:08:00.000Z' }),
];

describe('the table of releases', () => {
  it('has one row for each: outcome, time, artifact, commit, requester and reason', () => {
    expect(historyLines(RELEASES, screen())).toEqual([
      'RELEASE      OUTCOME        WHEN         AT                    ARTIFACT             COMMIT              BY             WHY',
      'release-12   … running      3m00s ago    2026-11-21 12:07:00Z  sha256:5068ba98bbac  fdd35b8fbd74-dirty  ada (claimed)  faster',
      'rollback-11  ✔ rolled back  2m00s ago    2026-11-21 12:08:00Z  -                    -                   ada (claimed)  faster: it serves',
      'release-10   ✖ rolled back  11 days ago  2026-11-10 12:08:00Z  sha256:5068ba98bbac  fdd35b8fbd74-dirty  ada (claimed)  faster: it serves',
    ]);
  });

  it('shows no success for a rollback that did not reach the named revision', () => {
    const missed = made({
      kind: 'rollback',
      outcome: 'rolled_back',
      code: 'SLIPWAY_REVISION_NOT_REACHED',
      reason: 'revision r0 was not reached; revision r1 serves again',
    });
    const text = historyLines([missed], screen())[1];
    expect(text).toContain('✖ not reached');
    expect(text).not.toContain('✔');
  });

  it('omits the exact times in a narrow window, and truncates the reason', () => {
    const lines = historyLines([made({ reason: 'r'.repeat(100) })], screen(100));
    expect(lines[1]).not.toContain('12:08:00Z');
    expect(lines[1]).toMatch(/ada \(claimed\) {2}faster: r+…$/);
    expect(lines[1]?.length).toBeLessThanOrEqual(100);
  });

  it.each([54, 60, 70, 80, 90])('fits a window of %i columns', (columns) => {
    const requestedBy = { who: 'ada.lovelace@agents.example.com', from: 'cli', reason: 'faster' };
    for (const line of historyLines([...RELEASES, made({ requestedBy })], screen(columns))) {
      expect(line.length).toBeLessThanOrEqual(columns);
    }
  });

  it('keeps its columns with colors', () => {
    const plain = historyLines(RELEASES, screen(100, true)).map((line) =>
      line.replaceAll(/\u001b\[[\d;]+m/g, ''),
    );
    expect(plain.map((line) => line.trimEnd())).toEqual(historyLines(RELEASES, screen(100)));
  });
});

it('of a target whose payload key is missing is returned as the problem, and hides no other target', async () => {
  const sealed = new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', 'it is encrypted with the key "old"');
  const temporal = answeringTemporal({
    workflow: { getHandle: () => ({ describe: () => Promise.reject(sealed) }) },
  });
  const output = testOutput();
  const context = { output, home: '/nowhere', environment: {} };
  const target = { name: 'staging', workflowId: 'w', openStore: () => openArtifactStore('/nowhere') };
  expect(await printHistory(context, temporal, target, 5)).toBe(sealed);
  expect(output.said).toEqual(['staging', '  it is encrypted with the key "old"']);
});
