import { loadConfig } from '../../../config/loadConfig.ts';
import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import type { PlannedStep } from '../../../domain/release/releasePlan.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { onInterruption } from '../../interruption.ts';
import { printProblems } from '../lint/problemLines.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { releasePlan, type ReleasePlan } from './releasePlan.ts';
import { releasePlanLines } from './releasePlanLines.ts';

/** The options of `slipway plan release [TARGET]` and `slipway plan promotion [PROMOTION]`. */
export interface PlanOptions {
  readonly config?: string;
  /** How many days of promotions are planned. */
  readonly days: number;
}

/**
 * `slipway plan release [TARGET]`: prints what a release would do now: what it ships and changes, its steps and their
 * longest duration, and whether the target would accept it. Nothing is created, started or stored.
 *
 * @returns the exit code.
 * @throws SlipwayError as `slipway release` does before it starts anything; SLIPWAY_TEMPORAL_UNREACHABLE,
 * SLIPWAY_NO_WORKER and the control plane's errors after the rest was printed.
 */
export async function planReleaseOn(
  context: CommandContext,
  wanted: string | undefined,
  { config: path }: Pick<PlanOptions, 'config'>,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(path);
  printProblems(output, file.warnings, 'note');
  const chosen = await chooseTargetSpec(context, file.config, wanted);
  const interruption = onInterruption();
  try {
    const plan = await releasePlan(context, file, chosen, interruption.signal);
    output.event(releasePlanEvent(plan));
    for (const line of releasePlanLines(plan, output.style)) output.print(line);
    const [unreached] = plan.unreached;
    if (unreached !== undefined) throw unreached;
    return 0;
  } finally {
    interruption.release();
  }
}

/** A plan for programs: docs/json.md, "plan". */
function releasePlanEvent(plan: ReleasePlan): EventOf<'release_plan'> {
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
