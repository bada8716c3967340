import { DEFAULT_POLICY } from '../../../src/domain/judge/settings.ts';
import type { JudgeReport, SideReport } from '../../../src/domain/judge/report.ts';
import type { JudgeVerdict } from '../../../src/domain/judge/verdict.ts';

/** A report with a given verdict, without a judgement. */
export function madeReport(verdict: JudgeVerdict, fields: Partial<JudgeReport> = {}): JudgeReport {
  return {
    verdict,
    reasons: [`it was made to be ${verdict}`],
    error:
      verdict === 'errored'
        ? { side: 'candidate', code: 'SLIPWAY_UNREACHABLE', message: 'it could not be reached' }
        : null,
    policy: DEFAULT_POLICY,
    inputs: { from: 'inputs.jsonl', count: 100, repetitions: 2 },
    seed: 7,
    startedAt: '2026-11-21T10:00:00.000Z',
    endedAt: '2026-11-21T10:05:00.000Z',
    sides: { baseline: sideAt('http://baseline.test'), candidate: sideAt('http://candidate.test') },
    metrics: [],
    ...fields,
  };
}

function sideAt(agentUrl: string): SideReport {
  const ended = { success: 200, error: 0, interrupted: 0, timeout: 0 };
  return { agentUrl, runs: 200, ended, repeated: 0, feedback: { recorded: 0, lost: 0 }, failures: [] };
}
