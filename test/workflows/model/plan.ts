/** Artifacts, named by their behavior: those called `good` deploy and pass their checks. */
export const ARTIFACTS = ['good-1', 'good-2', 'good-3', 'fails', 'breaks', 'hangs'] as const;

export type ArtifactName = (typeof ARTIFACTS)[number];

/** Where a release can be held, so that something else can happen meanwhile. */
export type Stop = 'approval' | 'freeze' | 'upload' | 'patch' | 'deployed' | 'check' | 'soak';

/** The plan of one release: the answers of external services, and where it is held. */
export interface Plan {
  readonly artifact: ArtifactName;
  /** Two releases of one artifact and one variant have the same request key. */
  readonly variant: 1 | 2;
  readonly queue: 'latest' | 'all';
  readonly overrideHold: boolean;
  readonly stop: Stop | null;
  /**
   * The freeze that it finds: one that `ends` by itself or, if it is held there, only by a person; one that `refuses`
   * releases; one that its request overrides.
   */
  readonly freeze: 'none' | 'ends' | 'refuses' | 'is overridden';
  readonly onError: 'rollback' | 'wait' | 'stop';
  /**
   * `taken`: took effect, but no answer; `lost`: neither, once; `conflict`: took effect, but answered with 409; `too
   * late`: took effect, but answered after the attempt's deadline. Ignored if there is a deployment.
   */
  readonly create: 'answered' | 'taken' | 'lost' | 'conflict' | 'too late';
  readonly upload: 'answered' | 'refused' | 'too late';
  /** `old latest`: the answer names the previous latest revision. */
  readonly patch: 'answered' | 'old latest' | 'taken' | 'lost' | 'never answered' | 'refused' | 'too late';
  /** `unreachable`: for all automatic attempts of the step. */
  readonly check: 'answered' | 'unreachable' | 'too late';
  /** Its soak: none, or the check's answer in it. If it is held there, in the last round. `fails for all`: from now on. */
  readonly soak: 'none' | 'answered' | 'fails' | 'fails for all' | 'unreachable';
  readonly guard: Guarded | null;
  /** The check's question: one that every artifact answers, or only its own. */
  readonly asks: Question;
  readonly redeploy: 'answered' | 'taken' | 'lost' | 'too late';
}

/** How a release is guarded: what missing data means, and whether its rollback holds the target. */
export interface Guarded {
  readonly noData: 'continue' | 'rollback';
  readonly holds: boolean;
}

/** A check's question. Two releases with the same question have the same check. */
type Question = 'what all answer' | 'what it alone answers';

export interface Beginning {
  /** `empty`: none; `elsewhere`: another client's; `serving`: one whose revision is verified. */
  readonly deployment: 'empty' | 'elsewhere' | 'serving';
  /** Whether a redeploy makes a new revision, or deploys the old one again. */
  readonly redeployMakesRevision: boolean;
  readonly continueAsNewAfterEvents: number;
  /** The releases that are requested before every command. */
  readonly releases: readonly Plan[];
}
