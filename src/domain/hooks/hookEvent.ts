import { artifactIdentity } from '../artifact/artifact.ts';
import { withCopies } from '../deployment/revision.ts';
import { type RevisionWords, wordsOf } from '../deployment/revisionName.ts';
import { frozenAt } from '../freeze/freeze.ts';
import type { PromotionRequest } from '../promotion/promotion.ts';
import type { Progress, ReleaseRequest } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import type { RecordedTarget } from '../target/targetSpec.ts';
import type { Running, TargetState } from '../target/targetState.ts';

/** The actions of a hook's rule. */
export const HOOK_ACTIONS = ['release', 'promotion', 'hold', 'abort', 'rollback'] as const;
export type HookAction = (typeof HOOK_ACTIONS)[number];

/** An event that a product sent to a hook: an alert, a new prompt, the end of a CI run. */
export interface HookEvent {
  /** Equal for repeated deliveries: a digest of the signed content, or of the fields that identify the event. */
  readonly id: string;
  /**
   * What the event moved, such as a prompt's tag: an equal event after another move of it is a new one. Absent: equal
   * events are always one.
   */
  readonly moved?: string;
  /** A title for people. At most {@link TITLE_MAX_BYTES}. */
  readonly title: string;
  readonly status: 'firing' | 'resolved';
  /** When it began, according to the product. Absent: unknown. */
  readonly began?: Instant;
}

/** The limit of an event's title, as JSON. */
export const TITLE_MAX_BYTES = 400;

/** A time of each day or week, in a time zone: `22:00` until `07:00`. */
export interface HookHours {
  readonly from: string;
  readonly until: string;
  readonly timeZone: string;
}

/** The conditions for a rule to act. */
export interface HookGuards {
  /** The serving release is at most this old, in milliseconds, and the event began after it. */
  readonly youngerThanMs?: number;
  /** The revision, release, commit or artifact that the event names must serve. `null`: the event names none. */
  readonly revision?: string | null;
  /** At least this many events within a time in milliseconds. */
  readonly atLeast?: { readonly count: number; readonly withinMs: number };
  /** At most one action within this time, in milliseconds. */
  readonly atMostOncePerMs?: number;
  /** During these hours, a person must approve within a time in milliseconds. */
  readonly approval?: HookHours & { readonly withinMs: number };
}

/** An action for a target. */
export type HookOrder = {
  /** The target's name in `slipway.yaml`, and the id of its workflow. */
  readonly target: string;
  readonly workflowId: string;
} & (
  | { readonly do: 'abort' }
  | { readonly do: 'hold'; readonly kept: RecordedTarget }
  /** `hold: false`: the target is not put on hold. */
  | { readonly do: 'rollback'; readonly hold?: false; readonly kept: RecordedTarget }
  | { readonly do: 'release'; readonly request: ReleaseRequest }
  | { readonly do: 'promotion'; readonly request: PromotionRequest }
);

/** A rule that an event matches, for one target. */
export interface HookMatch {
  readonly rule: string;
  readonly guards: HookGuards;
  /** The index of its order in the delivery. */
  readonly order: number;
}

/** Events that arrived together. */
export interface HookDelivery {
  readonly events: readonly (HookEvent & { readonly matches: readonly HookMatch[] })[];
  readonly orders: readonly HookOrder[];
}

export function tallyKey(rule: string, { target }: Pick<HookOrder, 'target'>): string {
  return `${rule} ${target}`;
}

/** The facts of a target that the guards of a rule check. */
export interface HookFacts {
  /** The serving revision, according to the target. `null`: unknown, or none. */
  readonly serving: ServingFacts | null;
  /** The release or rollback that runs on the target. `null`: none. */
  readonly running: RunningFacts | null;
  /** Whether a person must approve now. */
  readonly needsApproval: boolean;
}

interface ServingFacts extends RevisionWords {
  /** The revision and its copies. */
  readonly copies: readonly string[];
  /** When its release began and ended. `null`: unknown. */
  readonly releaseBegan: Instant | null;
  readonly releasedAt: Instant | null;
}

interface RunningFacts extends Pick<Running, 'releaseId' | 'kind'> {
  readonly revisionId: string | null;
  /** `null`: unknown, also if a newer release waits. */
  readonly commit: string | null;
  readonly artifact: string | null;
  readonly startedAt: Instant | null;
  /**
   * `before`: what served before a release still does. `serves`: the release's own revision does. `unknown`: a revision is
   * being restored, or the release did not answer.
   */
  readonly stage: 'before' | 'serves' | 'unknown';
}

/**
 * The facts that the guards of a rule check.
 * @param view - the target's view. `undefined`: the target has never taken a release.
 * @param progress - the progress of the running release. `undefined`: none runs, or it did not answer.
 * @param hours - when a person must approve. `undefined`: never.
 * @param at - milliseconds since 1970.
 */
export function hookFacts(
  view: { readonly state: TargetState; readonly running: Running | null } | undefined,
  progress: Pick<Progress, 'revisionId' | 'startedAt' | 'steps'> | undefined,
  hours: HookHours | undefined,
  at: number,
): HookFacts {
  const needsApproval =
    hours !== undefined && frozenAt([{ name: 'approval', then: 'wait', ...hours }], at) !== null;
  if (view === undefined) return { serving: null, running: null, needsApproval };
  const { state, running } = view;
  return {
    needsApproval,
    serving: servingFacts(state),
    running: running === null ? null : runningFacts(state, running, progress),
  };
}

function runningFacts(
  { lastRequest }: TargetState,
  running: Running,
  progress: Pick<Progress, 'revisionId' | 'startedAt' | 'steps'> | undefined,
): RunningFacts {
  const { releaseId, kind, requestKey } = running;
  const request = kind === 'release' && lastRequest?.requestKey === requestKey ? lastRequest : null;
  return {
    releaseId,
    kind,
    revisionId: progress?.revisionId ?? null,
    commit: request?.commit ?? null,
    artifact: request && artifactIdentity(request.artifact),
    startedAt: progress?.startedAt ?? null,
    stage: stageOf(running, progress),
  };
}

function stageOf(
  { kind, restores }: Running,
  progress: Pick<Progress, 'steps'> | undefined,
): RunningFacts['stage'] {
  const steps = progress?.steps ?? [];
  const isUnknown = progress === undefined || kind === 'rollback' || restores !== undefined;
  if (isUnknown || steps.some(({ restoring }) => restoring)) return 'unknown';
  return steps.some(({ step, status }) => step === 'serving' && status === 'done') ? 'serves' : 'before';
}

function servingFacts(state: TargetState): ServingFacts | null {
  const { activeRevisionId: active, known, history } = state;
  if (active === null) return null;
  const words = wordsOf(state, active);
  const row = history.findLast(({ releaseId, kind }) => kind === 'release' && releaseId === words.release);
  return {
    ...words,
    copies: withCopies(known, active),
    releaseBegan: row?.startedAt ?? null,
    releasedAt: row?.endedAt ?? null,
  };
}
