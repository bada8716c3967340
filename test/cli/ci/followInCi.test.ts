import { describe, expect, it } from 'vitest';

import { jobSummary } from '../../../src/cli/ci/followInCi.ts';
import { sampleResult, sampleStep, sampleVerdict } from '../ui/sampleProgress.ts';

const result = sampleResult({
  outcome: 'rolled_back',
  reason: 'check "greets" failed',
  code: 'SLIPWAY_CHECK_FAILED',
  commit: 'fdd35b8',
  servingRevisionId: 'revision-1',
  steps: [
    sampleStep({ step: 'patch', attempts: 3, detail: 'revision revision-2' }),
    sampleStep({ step: 'redeploy', subject: 'revision-1', restoring: true }),
  ],
  verdicts: [
    sampleVerdict({ passed: false, reasons: ['no "Ada"'], answer: 'a | <img src=x>\n# big ![i](http://x)' }),
  ],
});

function summary(change: Partial<Parameters<typeof jobSummary>[0]> = {}): string {
  const ending = { from: 'result', result } as const;
  return jobSummary({
    asked: 'release',
    target: 'production',
    ending,
    dashboardUrl: null,
    workflowUrl: 'http://temporal/w',
    ...change,
  });
}

describe('the summary of a job', () => {
  it('has the outcome and why, the restored revision, the steps with their times, and the links', () => {
    const text = summary();
    expect(text).toMatch(/^## ✖ release-1 on production: rolled back\n\ncheck "greets" failed\n/);
    expect(text).toContain('| restored | `revision-1` |');
    expect(text).toContain('| serves | `revision-1`, verified |');
    expect(text).toContain('| patch | done | 2026-11-21 12:00:00Z | 1.0s | 3 | revision revision-2 |');
    expect(text).toContain('| Temporal | http://temporal/w |');
  });

  it('shows the answers of checks as plain text, with any content', () => {
    expect(summary()).toContain(
      '| greets | ✖ failed | 12ms | a \\| &lt;img src=x> # big !\\[i](http://x) | no "Ada" |',
    );
  });

  it('begins with what a person must do', () => {
    const ending = { from: 'result', result: { ...result, instructions: 'redeploy it' } } as const;
    expect(summary({ ending })).toMatch(/### A person is needed\n\n```\nredeploy it\n```\n\n### Steps/);
  });

  it('describes a release that never started by its row', () => {
    const row = { ...result, outcome: 'superseded', reason: 'a newer one', rollbackRequestIds: [] } as const;
    expect(summary({ ending: { from: 'history', row } })).toBe(
      '## ✖ release-1 on production: superseded\n\na newer one\n',
    );
  });

  it('links to the release’s page if the dashboard’s address is known, also for a release that never started', () => {
    const dashboardUrl = 'https://slipway.example.com/releases/target%3Ax/release-1';
    expect(summary()).not.toContain('| page |');
    expect(summary({ dashboardUrl })).toContain(`| page | ${dashboardUrl} |\n| Temporal |`);
    const row = { ...result, outcome: 'superseded', reason: 'a newer one', rollbackRequestIds: [] } as const;
    expect(summary({ dashboardUrl, ending: { from: 'history', row } })).toMatch(
      /a newer one\n\n\|  \|  \|\n\| --- \| --- \|\n\| page \| https:\S+ \|\n/,
    );
  });
});
