import type { UnderWay } from '../../domain/heartbeat.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { TargetView } from '../../messages/target.ts';
import type { TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import type { KeptTarget } from '../../temporal/history/keptTarget.ts';
import type { DeploymentSeen } from '../../inspection/deployment/seeDeployment.ts';
import type { GuardOnPage } from './guardWatch.ts';

export interface TargetSnapshot extends UnderWay {
  readonly workflowId: string;
  /** Its name in `slipway.yaml`; its workflow's id until the target has answered. */
  readonly name: string;
  /** The target's newest answer. `undefined`: it has not answered yet. */
  readonly view: TargetView | undefined;
  readonly progress: Progress | undefined;
  /** What Temporal knows of a target that has never answered. Absent: it has answered, or was not read. */
  readonly kept?: KeptTarget;
  /** The hooks whose rules have asked it, or may. Those that were not read yet are missing. */
  readonly hooks: readonly TargetHook[];
  /** The guard of its view. Absent: it has none, or that was not read yet. */
  readonly guard?: GuardOnPage;
  /** What serves according to the control plane; a sentence if it could not be read. `undefined`: not read yet. */
  readonly deployment: DeploymentSeen | string | undefined;
  /** Why the target does not answer, and since when (milliseconds since 1970). Absent: it answers. */
  readonly silence?: { readonly why: string; readonly hint: string | undefined; readonly since: number };
}

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
    hooks: [],
    deployment: undefined,
  };
}
