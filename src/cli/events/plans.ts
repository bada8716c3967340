import type { ArtifactFile, FilesDifference } from '../../artifact/artifactFiles.ts';
import type { Artifact } from '../../domain/artifact/artifact.ts';
import type { Check } from '../../domain/check/check.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Frozen } from '../../domain/freeze/freeze.ts';
import type { ApprovalPolicy } from '../../domain/intervention/intervention.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import type { KnownRevision, Progress, ReleaseResult } from '../../domain/release/release.ts';
import type {
  PlannedAnswer,
  PlannedChange,
  PlannedStep as Planned,
} from '../../domain/release/releasePlan.ts';
import type { Instant, WholeNumber } from '../../domain/scalars.ts';
import type { StepPolicy } from '../../domain/step.ts';
import type { LocalHold } from '../commands/target/localHold.ts';

/** The events of commands that plan and rehearse. */
export interface PlanSections {
  /**
   * `plan release`
   *
   * As with `release`, a `suspected_secret` for each place comes before `release_plan`. If the control plane or the target
   * could not be asked, an `error` follows.
   */
  readonly planRelease: {
    /** What a release would do now. */
    readonly release_plan: {
      readonly target: string;
      readonly artifact: PlannedArtifact;
      readonly commit: string | null;
      readonly requestKey: string;
      /** `null`: there is none yet, or the control plane did not answer. */
      readonly deployment: {
        readonly deploymentId: string;
        readonly name: string;
        readonly activeRevisionId: string | null;
      } | null;
      /** Whether the release creates the deployment. `null`: the control plane did not answer. */
      readonly creates: boolean | null;
      /** What the target knows of the revision that serves. */
      readonly serving: KnownRevision | null;
      /** `null`: the control plane did not answer. */
      readonly change: PlannedChange | null;
      readonly steps: readonly PlannedStep[];
      /** The longest time that the steps take, by their deadlines. */
      readonly longestMs: WholeNumber;
      /** The steps that restore a revision if the release fails, with the checks that this revision passed. */
      readonly restoring: readonly PlannedStep[];
      readonly restoringLongestMs: WholeNumber;
      readonly checks: readonly Check[];
      readonly soakMs: WholeNumber;
      /** `null`: the release needs no approval. */
      readonly approval: ApprovalPolicy | null;
      /** The freeze that is in force. */
      readonly frozen: (Omit<Frozen, 'until'> & { readonly until: Instant }) | null;
      readonly localHold: LocalHold | null;
      /** `null`: the target could not be asked. */
      readonly answer: PlannedAnswer | null;
      /** Why the control plane or the target could not be asked. */
      readonly unreached: readonly { readonly code: ErrorCode; readonly message: string }[];
    };
  };

  /** `plan promotion` */
  readonly planPromotion: {
    /** One for each start. */
    readonly planned: {
      readonly name: string;
      readonly at: Instant;
      readonly decisions: readonly {
        readonly at: Instant;
        /** In words. */
        readonly what: string;
      }[];
    };
  };

  /**
   * `rehearse`
   *
   * In the order in which they began, in rehearsed time (`at`). After Ctrl-C `stopped`, with the exit code 130.
   */
  readonly rehearse: {
    /** A release that the rehearsal requested. */
    readonly rehearsed_release: {
      readonly target: string;
      readonly at: Instant;
      /** The whole record. `null`: the release was rejected, or still runs. */
      readonly result: ReleaseResult | null;
      /** Why the target rejected it. */
      readonly reason: string | null;
      /** If the release still runs. `null`: it has ended, was rejected, or waits for its turn. */
      readonly progress: Progress | null;
    };
    /** A start of a promotion. */
    readonly rehearsed_promotion: {
      readonly name: string;
      readonly at: Instant;
      /** `left_out`, `done_after`: the promotion of an earlier start still ran. */
      readonly state: 'ended' | 'left_out' | 'done_after' | 'goes_on';
      /** With `ended`: the whole record. */
      readonly result: PromotionResult | null;
      /** With `goes_on`. */
      readonly progress: Progress | null;
    };
    /** An injection that nothing triggered. */
    readonly rehearsal_unmet: { readonly injection: string };
    /** The rehearsal is over. Its exit code is 0, whatever the promotions' outcomes. */
    readonly rehearsal_ended: {
      readonly startedAt: Instant;
      readonly days: WholeNumber;
      /** How long the rehearsal took in real time. */
      readonly tookMs: WholeNumber;
    };
  };
}

/** What a release would ship. */
interface PlannedArtifact {
  readonly kind: Artifact['kind'];
  readonly identity: string;
  /** `null`: it is no tarball. */
  readonly sizeBytes: WholeNumber | null;
  /** `null`: it is no tarball. */
  readonly files: readonly ArtifactFile[] | null;
  /** How its files differ from those that serve. `null`: not known. */
  readonly difference: FilesDifference | null;
}

/** A step that a release will take, with its deadlines and retries. */
interface PlannedStep extends Omit<Planned, 'policy'>, StepPolicy {}
