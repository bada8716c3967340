/** What is shipped, told by how it fares: those called `good` come up and pass their checks. */
export const ARTIFACTS = ['good-1', 'good-2', 'good-3', 'fails', 'breaks', 'hangs'] as const;

export type ArtifactName = (typeof ARTIFACTS)[number];

/** Where a release can be held up, for something else to happen meanwhile. */
export type Stop = 'approval' | 'upload' | 'patch' | 'deployed' | 'check';

/** What happens to one release on its way: what the outside answers, and where it is held up. */
export interface Plan {
  readonly artifact: ArtifactName;
  /** Two releases of one artifact and one variant have the same request key. */
  readonly variant: 1 | 2;
  readonly queue: 'latest' | 'all';
  readonly overrideHold: boolean;
  readonly stop: Stop | null;
  readonly onError: 'rollback' | 'wait' | 'stop';
  /**
   * `taken`: carried out, but not answered; `lost`: neither, once; `conflict`: carried out, and answered with 409;
   * `too late`: carried out, and answered after the attempt's deadline. Where there is a deployment, nothing happens.
   */
  readonly create: 'answered' | 'taken' | 'lost' | 'conflict' | 'too late';
  readonly upload: 'answered' | 'refused' | 'too late';
  /** `old latest`: answered, with the latest revision of before. */
  readonly patch: 'answered' | 'old latest' | 'taken' | 'lost' | 'never answered' | 'refused' | 'too late';
  /** `unreachable`: as often as the step is tried by itself. */
  readonly check: 'answered' | 'unreachable' | 'too late';
  /** What its check asks: what every artifact answers, or what only its own does. */
  readonly asks: Question;
  readonly redeploy: 'answered' | 'taken' | 'lost' | 'too late';
}

/** What a check asks: two releases that ask the same have the same check. */
type Question = 'what all answer' | 'what it alone answers';

/** How a sequence begins. */
export interface Beginning {
  /** `empty`: no deployment; `elsewhere`: one that somebody made; `serving`: one whose revision is verified. */
  readonly deployment: 'empty' | 'elsewhere' | 'serving';
  /** Whether a redeploy makes a new revision, or brings the old one up again. */
  readonly redeployMakesRevision: boolean;
  readonly continueAsNewAfterEvents: number;
}
