import { artifactIdentity } from '../artifact/artifact.ts';
import { isSameRevision } from '../deployment/revision.ts';
import { type RevisionWords, wordsOf } from '../deployment/revisionName.ts';
import { frozenAt } from '../freeze/freeze.ts';
import type { Progress } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import type { Running, TargetState } from '../target/targetState.ts';
import type { HookHours } from './hookEvent.ts';

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
  const copies = known
    .map(({ revisionId }) => revisionId)
    .filter((other) => other !== active && isSameRevision(known, other, active));
  const row = history.findLast(({ releaseId, kind }) => kind === 'release' && releaseId === words.release);
  return {
    ...words,
    copies: [active, ...copies],
    releaseBegan: row?.startedAt ?? null,
    releasedAt: row?.endedAt ?? null,
  };
}
