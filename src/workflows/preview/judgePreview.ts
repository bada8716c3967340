import { workflowInfo } from '@temporalio/workflow';

import type { PreviewJudge, PreviewJudgement, PreviewSpec } from '../../domain/preview/preview.ts';
import type { TargetSeen } from '../../domain/promotion/candidate.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

/** Compares what serves on a preview with what serves on the target that it copies. A failure is its verdict. */
export async function judgePreview(
  { target, recordStore }: PreviewSpec,
  { settings, inputs, baseline }: PreviewJudge,
  releaseId: string,
): Promise<PreviewJudgement> {
  const summary = `${releaseId} against what serves on ${baseline.name}`;
  try {
    const seen = await activitiesOf('candidate', {}, summary).lookAtLine({
      from: target,
      to: baseline,
      downstream: [],
    });
    const sides = { baseline: sideOf(baseline, seen.line.to), candidate: sideOf(target, seen.line.from) };
    if (sides.baseline === null || sides.candidate === null) {
      const missing = sides.baseline === null ? baseline : target;
      return unjudged(baseline, `nothing that can be asked serves on ${missing.name}`);
    }
    const { report } = await activitiesOf('judge', {}, summary).judgeCandidate({
      judgementId: `previews/${target.name}/${workflowInfo().runId}-${releaseId}`,
      store: recordStore,
      inputs,
      settings: { ...settings, seed: Math.floor(Math.random() * 2 ** 32) },
      sides: { baseline: sides.baseline, candidate: sides.candidate },
    });
    return { baseline: baseline.name, verdict: report.verdict, reasons: report.reasons };
  } catch (error) {
    const { canceled, message } = explain(error);
    if (canceled) throw error;
    return unjudged(baseline, message);
  }
}

function sideOf(target: TargetSpec, { servingRevisionId, deploymentId, agentUrl }: TargetSeen) {
  if (servingRevisionId === null || deploymentId === null || agentUrl === null) return null;
  return { target, revisionId: servingRevisionId, deploymentId, agentUrl };
}

function unjudged({ name }: TargetSpec, reason: string): PreviewJudgement {
  return { baseline: name, verdict: null, reasons: [reason] };
}
