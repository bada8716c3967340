import type { RunningCall } from '../../domain/heartbeat.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { TargetView } from '../../messages/target.ts';
import type { KeptTarget } from '../../temporal/history/keptTarget.ts';
import type { DeploymentSeen } from '../../inspection/deployment/seeDeployment.ts';

/** What is known of a target at one moment. */
export interface TargetSnapshot {
  readonly workflowId: string;
  /** Its name in `slipway.yaml`; its workflow's id until the target has answered. */
  readonly name: string;
  /** The target's newest answer. `undefined`: it has not answered yet. */
  readonly view: TargetView | undefined;
  /** What runs on it, as it last answered. */
  readonly progress: Progress | undefined;
  /** What the step under way found last. */
  readonly call: RunningCall | null;
  /** While a revision is deployed: the newest lines of its build, oldest first. */
  readonly buildLog: readonly string[];
  /** What Temporal keeps of a target that has never answered. Absent: it has answered, or it was not read yet. */
  readonly kept?: KeptTarget;
  /** What the control plane says serves; a sentence if it could not be asked. `undefined`: not asked yet. */
  readonly deployment: DeploymentSeen | string | undefined;
  /** Why it does not answer, and since when (milliseconds since 1970). Absent: it answers. */
  readonly silence?: { readonly why: string; readonly hint: string | undefined; readonly since: number };
}

/** A target that has not been asked yet. */
export function unreadTarget({
  workflowId,
  name,
}: Pick<TargetSnapshot, 'workflowId' | 'name'>): TargetSnapshot {
  return {
    workflowId,
    name,
    view: undefined,
    progress: undefined,
    call: null,
    buildLog: [],
    deployment: undefined,
  };
}
