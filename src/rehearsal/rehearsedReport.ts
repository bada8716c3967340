import type { JudgementInput } from '../activities/activities.ts';
import type { JudgeReport, SideReport } from '../domain/judge/report.ts';
import type { JudgeVerdict } from '../domain/judge/verdict.ts';

/** The report of a judge who runs nothing: the verdict is what is rehearsed. */
export function rehearsedReport(
  verdict: JudgeVerdict,
  { inputs, settings }: Pick<JudgementInput, 'inputs' | 'settings'>,
  at: number,
): JudgeReport {
  const instant = new Date(at).toISOString();
  const side: SideReport = {
    agentUrl: '',
    runs: 0,
    ended: { success: 0, error: 0, interrupted: 0, timeout: 0 },
    repeated: 0,
    feedback: { recorded: 0, lost: 0 },
    failures: [],
  };
  const reason = 'rehearsed';
  return {
    verdict,
    reasons: [reason],
    error: verdict === 'errored' ? { side: null, code: 'SLIPWAY_UNREACHABLE', message: reason } : null,
    policy: settings.policy,
    inputs: { from: inputs === 'recorded' ? 'recorded runs' : inputs.name, count: 0, repetitions: 0 },
    seed: settings.seed,
    startedAt: instant,
    endedAt: instant,
    sides: { baseline: side, candidate: side },
    metrics: [],
  };
}
