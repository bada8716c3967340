import type { Actor } from '../../domain/actor.ts';
import type { ActivityFact } from '../../domain/audit/facts.ts';
import type { DescribedRevision } from '../../domain/deployment/revisionName.ts';
import type { Guarding } from '../../domain/guard/guarding.ts';
import type { RunningCall, UnderWay } from '../../domain/heartbeat.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import type { PastRelease } from '../../domain/release/pastRelease.ts';
import type { Progress, RollbackRequest } from '../../domain/release/release.ts';
import type { Instant } from '../../domain/scalars.ts';
import type {
  Drift,
  HistoryRow,
  Hold,
  IgnoredMessage,
  NeedsPerson,
  Quarantined,
  Running,
  AcceptedMessage,
  Undelivered,
} from '../../domain/target/targetState.ts';
import type { DeploymentSeen } from '../../inspection/deployment/deploymentAccess.ts';
import type { HookApproval } from '../../temporal/client/hooks/targetHooks.ts';
import type { LocalHold } from '../commands/target/localHold.ts';
import type { ScheduleStatus } from './promotions.ts';

/** The events of `slipway status`. */
export interface StatusSections {
  /**
   * `status`
   *
   * If the control plane does not report what serves, that is no error: `deployment` is `null`. `SLIPWAY_TEMPORAL_UNREACHABLE`
   * (6), `SLIPWAY_TARGET_UNKNOWN` and the codes of an invalid file (1) come without any status. So do the errors of the
   * control plane if the deployment is given by its id alone. If the hold on this machine cannot be read, `localHold` is `null`,
   * and an `error` follows: `SLIPWAY_TARGET_ON_HOLD` (4).
   */
  readonly status: {
    /** The target's own answer. */
    readonly status: {
      /** `record`: Temporal no longer has the target. Its record in the artifact store has no queue and no history. */
      readonly from: 'target' | 'record';
      /** `false`: it has never accepted a release. */
      readonly known: boolean;
      /** With `record`: when the target stored it. */
      readonly recordedAt?: Instant;
      readonly running: Running | null;
      /** The steps of the release or rollback that runs. */
      readonly progress: Progress | null;
      /** Why what runs does not report its steps, and the next command. Absent: it does, or nothing runs. */
      readonly whyNoProgress?: string;
      readonly queue: readonly {
        readonly releaseId: string;
        readonly queuedAt: Instant;
        readonly requestKey: string;
        readonly commit: string | null;
        readonly requestedBy: Actor;
      }[];
      /** The rollbacks that wait. */
      readonly rollbacks: readonly RollbackRequest[];
      readonly hold: Hold | null;
      /** The revision that `activeRevisionId` names. */
      readonly serving: DescribedRevision | null;
      /** Oldest first. */
      readonly history: readonly HistoryRow[];
      readonly ignored: readonly IgnoredMessage[];
      readonly undelivered: readonly Undelivered[];
      readonly said: readonly AcceptedMessage[];
      readonly quarantined: readonly Quarantined[];
      readonly drift: Drift | null;
      /** A release or a rollback could not restore a good revision, and none has succeeded since. */
      readonly needsPerson: NeedsPerson | null;
      /** The events of hooks that wait for a person: "slipway hooks approve ID". Oldest first. */
      readonly hookApprovals: readonly HookApproval[];
      /** The guard of the release that ended last. `measured`: what it found last. */
      readonly guard: (Guarding & { readonly measured: RunningCall | null }) | null;
    } & UnderWay &
      StatusOfTarget;
    /** One for each promotion to one of these targets. */
    readonly promotion_status: {
      readonly name: string;
      readonly from: string;
      readonly to: string;
      readonly workflowId: string;
      readonly workflowUrl: string | null;
      /** The promotion's page. `null`: no address of the page is set, or the promotion has never run. */
      readonly dashboardUrl: string | null;
      /** `stopped`: its workflow was terminated in Temporal. `unreadable`: see `problem`. */
      readonly state: 'none' | 'running' | 'ended' | 'stopped' | 'unreadable';
      /** With `running`. */
      readonly progress: Progress | null;
      /** With `ended`: the whole record. */
      readonly last: PromotionResult | null;
      readonly schedule: ScheduleStatus | null;
      /** With `unreadable`: `SLIPWAY_PAYLOAD_KEY_MISSING`, `SLIPWAY_PAYLOAD_UNREADABLE` or `SLIPWAY_WORKFLOW_STUCK`. An `error` follows. */
      readonly problem?: { readonly code: string; readonly message: string };
    };
  };

  /**
   * `status`, if the target does not answer
   *
   * An `error` follows: `SLIPWAY_NO_WORKER` (no worker, exit code 6), `SLIPWAY_WORKFLOW_STUCK` (the workflow cannot
   * continue, 3), `SLIPWAY_TARGET_UNREADABLE` (4), `SLIPWAY_PAYLOAD_KEY_MISSING` or
   * `SLIPWAY_PAYLOAD_UNREADABLE` (1).
   */
  readonly statusWithoutWorker: {
    /** What Temporal and the control plane know. */
    readonly status: {
      readonly from: 'temporal';
      readonly known: true;
      /** Absent with `problem`, like `history` and `messages`. */
      readonly running?: RunningWork | null;
      /** Oldest first. */
      readonly history?: readonly PastRelease[];
      /** Signals that wait for a worker. */
      readonly messages?: readonly {
        readonly workflowId: string;
        readonly message: string;
        readonly at: Instant;
        readonly who: string | null;
        readonly reason: string | null;
      }[];
      /** The key of the target's payloads is missing or another one: `SLIPWAY_PAYLOAD_…`. Absent: it is there. */
      readonly problem?: { readonly code: string; readonly message: string };
      /** The fields that are left out because only a worker, or a process with the key, knows them. */
      readonly unknown: readonly string[];
    } & StatusOfTarget;
  };
}

interface StatusOfTarget {
  readonly target: string;
  readonly workflowId: string;
  readonly workflowUrl: string | null;
  /** The target's page. `null`: no address of the page is set, or the target has never accepted a release. */
  readonly dashboardUrl: string | null;
  /** The hold that `rollback --break-glass` left on this machine. */
  readonly localHold: LocalHold | null;
  /** The serving revision, according to the control plane, or else the last one that the target knew. */
  readonly activeRevisionId: string | null;
  /** The revision that serves, as the target last knew. */
  readonly lastKnownRevisionId: string | null;
  /** `null`: the control plane did not answer. */
  readonly deployment: DeploymentSeen | null;
}

/** A release or a rollback that runs, as Temporal's history describes it. */
interface RunningWork extends PastRelease {
  readonly workflowId: string;
  /** The activities that it has called. */
  readonly calls: readonly {
    readonly name: string;
    readonly scheduledAt: Instant;
    /** `null`: it has not ended. */
    readonly endedAt: Instant | null;
    readonly outcome: ActivityFact['outcome'];
  }[];
}
