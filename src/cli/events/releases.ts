import type { FilesDifference } from '../../artifact/artifactFiles.ts';
import type { SuspectedSecret } from '../../artifact/suspectedSecrets.ts';
import type { Artifact } from '../../domain/artifact/artifact.ts';
import type { WaitingCost } from '../../domain/cost/waitingCost.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { UnderWay } from '../../domain/heartbeat.ts';
import type { InterventionKind, InterventionRecord } from '../../domain/intervention/intervention.ts';
import type { FieldDifference } from '../../domain/release/fieldDifferences.ts';
import type { Outcome } from '../../domain/release/outcome.ts';
import type { PastRelease } from '../../domain/release/pastRelease.ts';
import type {
  CheckVerdict,
  Progress,
  ReleaseResult,
  StepRecord,
  Waiting,
} from '../../domain/release/release.ts';
import type { ExitCode, Instant, WholeNumber } from '../../domain/scalars.ts';
import type { HistoryRow, Hold, ReleaseAnswer, RollbackAnswer } from '../../domain/target/targetState.ts';
import type { RowDifference } from '../../inspection/release/releaseDifference.ts';
import type { HistoryCost } from '../../temporal/history/billedActions.ts';
import type { GuardSeen } from '../../temporal/client/guard/guardClient.ts';

/** The events of commands that release, roll back, follow and control releases. */
export interface ReleaseSections {
  /**
   * `release`
   *
   * With `--strict` an `error` follows a `suspected_secret`.
   *
   * If `release --abort-on-interrupt` is interrupted, it prints an `intervention` without `target`, as `abort` does, then
   * `gave_up`. So does `promote`.
   */
  readonly release: {
    /** The source contains what looks like a secret: one for each place. */
    readonly suspected_secret: SuspectedSecret;
    /** The artifact is in the artifact store. */
    readonly artifact: {
      readonly kind: Artifact['kind'];
      /** Its identity: `sha256:…`, `image:…`, `git:…`. */
      readonly artifact: string;
      /** `null`: it is no tarball. */
      readonly sizeBytes: WholeNumber | null;
      /** How many files and links it contains. `null`: it is no tarball. */
      readonly entries: WholeNumber | null;
      readonly commit: string | null;
    };
    /** A freeze is in force: the release waits for its end, or overrides it. */
    readonly frozen: {
      readonly target: string;
      /** The freeze's name. */
      readonly name: string;
      readonly until: Instant;
      /** Whether the release overrides the freeze. */
      readonly overridden: boolean;
    };
    /** The target accepted or rejected the request. */
    readonly submitted: ReleaseAnswer & {
      readonly target: string;
      /** The target's workflow. */
      readonly workflowId: string;
      /** Two requests with the same key ask for the same thing. */
      readonly requestKey: string;
      /** The release's page. `null`: no address of the page is set. */
      readonly dashboardUrl: string | null;
    };
  };

  /**
   * `rollback`
   *
   * `rollback --break-glass` prints `break_glass`, then a `revision` for each status of the revision, then `ended` or
   * `gave_up`. With `--no-wait` it prints only `break_glass`.
   */
  readonly rollback: {
    /** The target accepted or rejected the request. */
    readonly submitted: {
      /** `null`: no worker has answered yet. */
      readonly onHold: boolean | null;
      /** `signal`: no worker has answered yet. */
      readonly via: 'update' | 'signal';
      readonly target: string;
      /** The target's page. `null`: no address of the page is set. */
      readonly dashboardUrl: string | null;
    } & Omit<RollbackAnswer, 'onHold'>;
    /** `--break-glass`: the command restores a revision. */
    readonly break_glass: {
      readonly deploymentId: string;
      readonly activeRevisionId: string | null;
      /** The revision that it restores. */
      readonly to: string;
      /** The command that does the same by hand. */
      readonly command: string;
    };
    /** `--break-glass`: each status of the revision. */
    readonly revision: {
      readonly revisionId: string;
      /** In the control plane's words. */
      readonly status: string;
    };
  };

  /**
   * `release`, `rollback` and `watch`, while they follow a release
   *
   * If a revision was not built, or did not start, the last lines of its log (`log`) come before `ended`.
   */
  readonly followed: {
    /** The release waits for its turn. */
    readonly queued: { readonly reason: string };
    /** The release runs. A rollback that stops a release follows that release. */
    readonly started: { readonly releaseId: string; readonly workflowId: string };
    /** A step began or ended. A short step may be printed only once it has ended. */
    readonly step: {
      /** Once it has ended. */
      readonly elapsedMs?: WholeNumber;
    } & StepRecord;
    /** A check passed or failed. */
    readonly check: CheckVerdict;
    /** The release waits for a person, or for the end of a freeze. */
    readonly waiting: Waiting;
    /** What the release waits for, and the commands that people sent: at each change. */
    readonly under_way: {
      /** When a soak or a bake ends. Absent: none has begun. */
      readonly watchUntil?: Instant;
      /** In the order in which they arrived. */
      readonly interventions: readonly InterventionRecord[];
    } & UnderWay;
    /** The worker or Temporal has not answered for a while. The command keeps asking. */
    readonly silent: {
      readonly who: 'worker' | 'temporal';
      readonly since: Instant;
      /** Why, and the next command, if no worker polls that could answer. Absent: one does, or Temporal is silent. */
      readonly why?: string;
    };
    /** The worker or Temporal answers again. */
    readonly answering: object;
    /** The release or the rollback has ended. */
    readonly ended: {
      /** `null`: the rollback was rejected, or done by `--break-glass`. */
      readonly releaseId: string | null;
      readonly outcome: Outcome;
      readonly reason: string;
      readonly exitCode: ExitCode;
      readonly workflowUrl: string | null;
      /** The release's page. `null`: no address of the page is set, or there is no release. */
      readonly dashboardUrl: string | null;
      /** The whole record. `null`, as `row`: the target rejected the request or had nothing to do, or `--break-glass`. */
      readonly result: ReleaseResult | null;
      /** Instead of `result`, if the release waited but never started, or ended long ago. */
      readonly row: HistoryRow | null;
    };
    /** The command stops following. What it followed continues. */
    readonly gave_up: {
      /** `unknown`: the target no longer knows the release. */
      readonly why: 'timeout' | 'stopped' | 'unknown';
      readonly exitCode: ExitCode;
    };
  };

  /** `history` and `show` */
  readonly historyAndShow: {
    /** `history`: one for each, newest first. */
    readonly past_release: PastRelease & { readonly target: string };
    /** `show` */
    readonly release: PastRelease &
      UnderWay & {
        readonly target: string;
        readonly workflowUrl: string | null;
        /** The release's page. `null`: no address of the page is set. */
        readonly dashboardUrl: string | null;
        /** Where this information is from. */
        readonly from: 'temporal' | 'record' | 'target';
        /** `null`: the release has ended. */
        readonly progress: Progress | null;
        /** The whole record. `null`: the release has not ended, or its record is gone. */
        readonly result: ReleaseResult | null;
        /** How what it released is guarded. `null`: not, or Temporal does not know any longer. */
        readonly guard: GuardSeen | null;
      };
    /** `show --cost`: in actions of Temporal Cloud. */
    readonly cost: {
      readonly target: string;
      readonly releaseId: string;
      /** What its history shows. `null`: Temporal no longer has it. */
      readonly history: HistoryCost | null;
      /** What the target spends on it, at most. */
      readonly ofTarget: number;
      /** `soakedDay`: with checks every 5 minutes. */
      readonly waiting: WaitingCost;
    };
    /** `show --diff` */
    readonly difference: {
      readonly target: string;
      readonly from: PastRelease;
      readonly to: PastRelease;
      readonly configuration: readonly FieldDifference[] | null;
      readonly files: FilesDifference | null;
      /** The rows of datasets that changed sides, by check. */
      readonly rows: readonly RowDifference[];
      /** Why `configuration` or `files` is `null`. */
      readonly unknown: readonly string[];
    };
  };

  /**
   * `logs` and `watch`
   *
   * `watch` prints what `release` prints from `queued` on. If a release's revision was not built, or did not start, `show`
   * prints the last lines of its log.
   */
  readonly logsAndWatch: {
    /** One for each line, oldest first. */
    readonly log: {
      readonly target: string;
      readonly revisionId: string;
      /** `build`, `deploy`; others may come. */
      readonly stage: string;
      readonly message: string;
      /** `null`: the control plane does not report it. */
      readonly timestamp: string | null;
    };
    /** `logs --release`: one for each line, oldest first. */
    readonly release_log: {
      readonly target: string;
      readonly releaseId: string;
      /** `temporal`, `worker`, `platform`, `build`, `deploy`; others may come. */
      readonly source: string;
      /** `null`: the line is about no revision. */
      readonly revisionId: string | null;
      readonly message: string;
      /** `null`: the source does not report it. */
      readonly timestamp: string | null;
    };
    /** `logs --release`: one for each source that could not be read. */
    readonly log_source: { readonly source: string; readonly problem: string };
    /** `watch`: nothing runs. */
    readonly idle: { readonly target: string };
  };

  /** `hold` and `unhold` */
  readonly hold: {
    /** The target accepted the command, or will. */
    readonly hold: {
      readonly target: string;
      /** `null`: no worker has answered yet. */
      readonly onHold: boolean | null;
      /** `null`: the command only ended the hold on this machine. */
      readonly via: 'update' | 'signal' | null;
      /** Whether the command ended a hold that `rollback --break-glass` left on this machine. */
      readonly removedLocal: boolean;
      /** The target's hold, which keeps its first reason. `null`: none, or no worker has answered yet. */
      readonly hold: Hold | null;
    };
  };

  /** `abort`, `pause`, `resume`, `approve`, `reject`, `retry`, `skip` */
  readonly interventions: {
    /** The command was sent. `release` and `promote` print it when `--abort-on-interrupt` aborts them. */
    readonly intervention: {
      readonly kind: InterventionKind;
      /** The target of the release. Absent: it is a promotion, or an interrupt. */
      readonly target?: string;
      /** The promotion. Absent: it is a release, or an interrupt. */
      readonly promotion?: string;
      /** `null`: it is a promotion, or no worker has answered yet which release runs. */
      readonly releaseId: string | null;
      /** `kept`: no worker has answered yet. `failed`: the command could not be sent. */
      readonly disposition: 'taken' | 'repeated' | 'kept' | 'failed';
      readonly note: string;
      /** `null`: the command could not be sent. */
      readonly via: 'update' | 'signal' | null;
      /** With `failed`: why. */
      readonly code?: ErrorCode;
    };
  };

  /** `quarantine` and `unquarantine` */
  readonly quarantine: {
    /** The target accepted the command, or will. */
    readonly quarantine: {
      readonly target: string;
      /** The artifact's identity. */
      readonly artifact: string;
      /** `null`: no worker has answered yet. */
      readonly quarantined: boolean | null;
      readonly via: 'update' | 'signal';
    };
  };
}
