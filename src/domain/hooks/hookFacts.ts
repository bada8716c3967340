import { isSameRevision } from '../deployment/revision.ts';
import { type RevisionWords, wordsOf } from '../deployment/revisionName.ts';
import type { Progress } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import type { Running, TargetState } from '../target/targetState.ts';

/** What the guards of a rule ask about a target. */
export interface HookFacts {
  /** What serves, as the target knows. `null`: it does not know, or nothing does. */
  readonly serving: ServingFacts | null;
  /** What runs on the target. `null`: nothing. */
  readonly running: RunningFacts | null;
  /** A person must approve at this moment. */
  readonly needsApproval: boolean;
}

interface ServingFacts extends RevisionWords {
  /** It and its copies. */
  readonly copies: readonly string[];
  /** When its release began, and ended. `null`: not known. */
  readonly releaseBegan: Instant | null;
  readonly releasedAt: Instant | null;
}

interface RunningFacts extends Pick<Running, 'releaseId' | 'kind'> {
  readonly revisionId: string | null;
  readonly startedAt: Instant | null;
}

/** What a target says of itself, for the guards; `progress` is that of the release that runs, if it answered. */
export function targetFacts(
  state: TargetState,
  running: Running | null,
  progress: Pick<Progress, 'revisionId' | 'startedAt'> | undefined,
): Omit<HookFacts, 'needsApproval'> {
  return {
    serving: servingFacts(state),
    running:
      running === null
        ? null
        : {
            releaseId: running.releaseId,
            kind: running.kind,
            revisionId: progress?.revisionId ?? null,
            startedAt: progress?.startedAt ?? null,
          },
  };
}

/** A target that has never taken a release. */
export const NO_FACTS: Omit<HookFacts, 'needsApproval'> = { serving: null, running: null };

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
