import { describe, expect, it } from 'vitest';

import type { ArtifactStore } from '../../../../src/artifact/artifactStore.ts';
import { costLines } from '../../../../src/cli/commands/show/cost.ts';
import { differenceLines } from '../../../../src/cli/commands/show/difference.ts';
import { releaseLines, type ReleaseShown } from '../../../../src/cli/commands/show/releaseLines.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import { pastOfResult } from '../../../../src/domain/release/pastRelease.ts';
import type { RowDifference } from '../../../../src/inspection/release/releaseDifference.ts';
import { wholeAnswers } from '../../../../src/inspection/release/findRelease.ts';
import { billedActions } from '../../../../src/temporal/history/billedActions.ts';
import { sampleIntervention, sampleResult, sampleStep, sampleVerdict } from '../../ui/sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const SCREEN = { now: NOW, style: styleOf(false), columns: Infinity };
const result = sampleResult({
  releaseId: 'release-2',
  outcome: 'rolled_back',
  reason: 'check "greets" failed',
  code: 'SLIPWAY_CHECK_FAILED',
  revisionId: 'revision-2',
  servingRevisionId: 'revision-1',
  baseline: { revisionId: 'revision-1', verified: true },
  steps: [
    sampleStep({ step: 'patch', attempts: 3, detail: 'revision revision-2' }),
    sampleStep({ step: 'redeploy', subject: 'revision-1', restoring: true }),
  ],
  verdicts: [sampleVerdict({ passed: false, reasons: ['it does not contain "Ada"'], answer: 'No.' })],
  interventions: [
    sampleIntervention({
      by: { who: 'bo', from: 'cli', reason: 'look' },
      at: '2026-11-21T12:00:01.000Z',
      note: 'paused',
    }),
  ],
});
const found: ReleaseShown = {
  target: 'production',
  past: pastOfResult(result),
  result,
  progress: null,
  call: null,
  buildLog: [],
  calls: [],
  request: null,
  workflowUrl: 'http://temporal/w',
  dashboardUrl: null,
  guard: null,
  from: 'temporal',
};

function shown(change: Partial<ReleaseShown> = {}): readonly string[] {
  return releaseLines({ ...found, ...change }, SCREEN);
}

it('prints a check’s whole answer from the artifact store, and the verdict’s excerpt if there is none', async () => {
  const whole = `Hello ${'界😀'.repeat(500)}`;
  const store = {
    getRecord: (name: string) => Promise.resolve(name === '_answers/1.json' ? whole : undefined),
  };
  const verdicts = ['_answers/1.json', '_answers/2.json'].map((answerRecord) =>
    sampleVerdict({ answer: 'Hel…', answerRecord }),
  );
  const answers = await wholeAnswers(store as ArtifactStore, verdicts);
  const lines = releaseLines({ ...found, result: { ...result, verdicts } }, SCREEN, answers);
  const answered = lines.filter((line) => line.includes('answered '));
  expect(answered[0]).toContain(whole);
  expect(answered[1]).toContain('answered Hel…');
});

describe('a release in slipway show', () => {
  it('has its outcome, requester, each step with its time and attempts, the checks with their answers, and messages', () => {
    const lines = shown();
    expect(lines[0]).toMatch(/^release-2 on production: ✖ rolled back in .* \(SLIPWAY_CHECK_FAILED\)$/);
    expect(lines[1]).toBe('  check "greets" failed');
    const text = lines.join('\n');
    expect(text).toMatch(/ {2}asked {4} +by ada \(claimed\), from cli/);
    expect(text).toMatch(/├─ 12:00:00 ✔ patch +1\.0s {2}3 attempts, revision revision-2/);
    expect(text).toMatch(/└─ 12:00:00 ✔ restore: redeploy revision-1/);
    expect(text).toMatch(/restored +revision revision-1/);
    expect(text).toMatch(
      /└─ ✖ greets on revision revision, 12ms, run run-1\n {5,}it does not contain "Ada"\n {5,}answered No\./,
    );
    expect(text).toContain('└─ 12:00:01 pause by bo (claimed) (look): paused');
    expect(text).toContain('http://temporal/w');
    expect(text).not.toContain('page');
  });

  it('has the address of its page, if it is known', () => {
    expect(shown({ dashboardUrl: 'https://page/r' }).slice(-2)).toEqual([
      '  page      https://page/r',
      '  Temporal  http://temporal/w',
    ]);
  });

  it('reports that the earlier revision did not answer under its settings', () => {
    const baseline = { revisionId: 'revision-1', verified: true, silent: 'the agent does not answer' };
    const text = shown({ result: { ...result, baseline } }).join('\n');
    expect(text).toMatch(/before +revision revision-1, verified; the agent does not answer/);
  });

  it('shows the pending calls of a running one without a worker', () => {
    const call = {
      name: 'patchDeployment',
      input: {},
      outcome: 'completed' as const,
      result: null,
      mayHaveBeenTaken: true,
      scheduledAt: NOW - 5_000,
      endedAt: NOW - 4_000,
    };
    const past = { ...found.past, outcome: 'running', endedAt: null } as const;
    const text = shown({ past, result: null, calls: [call] }).join('\n');
    expect(text).toContain('… running for');
    expect(text).toContain('└─ 12:09:55 patchDeployment: completed after 1.0s');
  });

  it('reports that only its record is left', () => {
    expect(shown({ from: 'record', workflowUrl: null }).join('\n')).toContain('Temporal no longer keeps it');
  });
});

const VERDICT = { digest: 'sha256:1', of: 3, rows: 3, seed: 0, decision: 'failed' } as const;
const ROWS: RowDifference = {
  check: 'trains',
  from: { ...VERDICT, made: 3, passed: 2 },
  to: { ...VERDICT, made: 2, passed: 1 },
  fixed: [{ id: 'a', line: 1, reasons: [] }],
  broken: [{ id: 'b', line: 2, reasons: ['the answer is late'] }],
  onlyFrom: 1,
  onlyTo: 0,
};

describe('the difference of two releases', () => {
  it('lists added, removed and changed files and fields', () => {
    const file = (path: string, sizeBytes: number) => ({ path, sizeBytes, digest: `${path}${sizeBytes}` });
    const lines = differenceLines(
      {
        from: found,
        to: { ...found, past: { ...found.past, releaseId: 'release-3', commit: 'c2' } },
        configuration: [
          { path: 'soakMs', from: 0, to: 5 },
          { path: 'target.agentUrl', from: undefined, to: 'http://a' },
        ],
        files: {
          added: [file('new.ts', 5)],
          removed: [file('old.ts', 5)],
          changed: [{ from: file('a.ts', 1), to: file('a.ts', 2) }],
        },
        rows: [ROWS],
      },
      styleOf(false),
    );
    expect(lines[0]).toBe('release-2 → release-3 on production');
    expect(lines).toEqual(
      expect.arrayContaining([
        '    + new.ts (1 KB)',
        '    - old.ts',
        '    ~ a.ts (1 → 2 bytes)',
        '    ~ soakMs: 0 → 5',
        '    + target.agentUrl: http://a',
        '  rows of trains: 2 of 3 → 1 of 2 rows passed',
        '    - row "b" (line 2) fails now: the answer is late',
        '    + row "a" (line 1) passes now',
        '    1 rows were asked only before',
      ]),
    );
  });

  it('says that the artifact is the same if one release is only a record, with a shortened digest', () => {
    const digest = `sha256:${'0123456789ab'.padEnd(64, '0')}`;
    const of = (artifact: string) => ({ ...found, past: { ...found.past, artifact } });
    const lines = differenceLines(
      { from: of(digest.slice(0, 19)), to: of(digest), configuration: [], files: 'no tarball', rows: [] },
      styleOf(false),
    );
    expect(lines[2]).toBe('  artifact  sha256:0123456789ab, the same');
  });

  it('says what is unknown', () => {
    const lines = differenceLines(
      { from: found, to: found, configuration: 'no configuration', files: 'no tarball', rows: [] },
      styleOf(false),
    );
    expect(lines).toEqual(expect.arrayContaining(['    no tarball', '    no configuration']));
  });
});

const WAITING = { parkedHour: 12, pollerHour: 462, soakedDay: 576 };

it('the costs of a release are shown by kind, with those of its target and of waiting', () => {
  const { actions } = billedActions([]);
  const history = { actions: { ...actions, starts: 1, attempts: 4 }, total: 5, heartbeatsAtMost: 2 };
  expect(costLines({ history, ofTarget: 3, waiting: WAITING })).toEqual([
    '  billed actions in Temporal Cloud',
    '    this release: 8, and at most 2 for heartbeats',
    '      its history 5: 1 start, 4 attempts at activities',
    '      its target 3: the request, the start, what it reads and writes',
    '    an hour of waiting for a revision: 12, and 462 for its poller, which others share',
    '    a day of soak with checks every 5 minutes: 576',
  ]);
});

it('unknown costs are shown as such, if Temporal no longer has the history', () => {
  const [, line] = costLines({ history: null, ofTarget: 3, waiting: WAITING });
  expect(line).toBe('    not known: Temporal no longer has the history of this release');
});
