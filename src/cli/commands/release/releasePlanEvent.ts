import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import type { PlannedStep } from '../../../domain/release/releasePlan.ts';
import type { EventOf } from '../../events/index.ts';
import type { ReleasePlan } from './releasePlan.ts';

/** A plan for programs: docs/json.md, "plan". */
export function releasePlanEvent(plan: ReleasePlan): EventOf<'release_plan'> {
  const { target, request, deployment, serving, change, frozen, localHold, taken, unreached } = plan;
  const { artifact, commit, checks, soakMs, approval } = request;
  return {
    event: 'release_plan',
    target,
    artifact: {
      kind: artifact.kind,
      identity: artifactIdentity(artifact),
      sizeBytes: artifact.kind === 'tarball' ? artifact.sizeBytes : null,
      files: plan.files,
      difference: plan.difference,
    },
    commit: commit ?? null,
    requestKey: request.requestKey,
    deployment:
      deployment == null
        ? null
        : {
            deploymentId: deployment.id,
            name: deployment.name,
            activeRevisionId: deployment.active_revision_id ?? null,
          },
    creates: deployment === undefined ? null : deployment === null,
    serving: serving ?? null,
    change: change ?? null,
    steps: plan.steps.map(stepOf),
    longestMs: plan.longestMs,
    restoring: plan.restoring.map(stepOf),
    restoringLongestMs: plan.restoringLongestMs,
    checks,
    soakMs,
    approval: approval ?? null,
    frozen: frozen === null ? null : { ...frozen, until: new Date(frozen.until).toISOString() },
    localHold: localHold ?? null,
    answer: taken ?? null,
    unreached: unreached.map(({ code, message }) => ({ code, message })),
  };
}

function stepOf({ policy, ...step }: PlannedStep): EventOf<'release_plan'>['steps'][number] {
  return { ...step, ...policy };
}
