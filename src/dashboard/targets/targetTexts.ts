import { type Frozen, frozenAt } from '../../domain/freeze/freeze.ts';
import { approvalsOf, type TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import type { Tone } from '../page/marks.tsx';

export interface Headline {
  readonly tone: Tone;
  readonly words: string;
}

/** What a person must know first about a target. `now`: milliseconds since 1970. */
export function headlineOf(snapshot: TargetSnapshot, now: number): Headline {
  const { view, progress, silence } = snapshot;
  if (view === undefined) {
    return silence === undefined
      ? { tone: 'quiet', words: 'reading' }
      : { tone: 'bad', words: 'does not answer' };
  }
  const { state, running } = view;
  if (state.needsPerson !== null) return { tone: 'bad', words: 'needs a person' };
  if (silence !== undefined) return { tone: 'warn', words: 'does not answer' };
  const waiting = progress?.waiting ?? null;
  if (waiting?.for === 'decision') return { tone: 'bad', words: 'waits for a decision' };
  if (waiting?.for === 'approval') return { tone: 'warn', words: 'waits for approval' };
  if (waiting?.for === 'resume') return { tone: 'warn', words: 'paused' };
  const events = eventsThatWait(snapshot.hooks);
  if (events > 0)
    return {
      tone: 'warn',
      words: events === 1 ? 'an event waits for approval' : `${events} events wait for approval`,
    };
  if (waiting?.for === 'freeze') return { tone: 'warn', words: 'waits for a freeze to end' };
  if (running !== null) {
    const isBack = running.kind === 'rollback' || progress?.steps.some(({ restoring }) => restoring) === true;
    return { tone: 'active', words: isBack ? 'rolling back' : 'releasing' };
  }
  if (state.hold !== null) return { tone: 'warn', words: 'on hold' };
  if (frozenOf(snapshot, now) !== null) return { tone: 'quiet', words: 'frozen' };
  if (servingOf(snapshot) !== null) return { tone: 'good', words: 'serving' };
  if (state.activeRevisionId !== null) return { tone: 'warn', words: 'nothing serves' };
  return { tone: 'quiet', words: state.history.length === 0 ? 'never released' : 'nothing serves' };
}

/** How many events wait for approval. One with several rules counts once, because one answer is for all of them. */
function eventsThatWait(hooks: readonly TargetHook[]): number {
  return hooks.reduce((sum, hook) => sum + new Set(approvalsOf([hook]).map(({ id }) => id)).size, 0);
}

/** The freeze that applies to the next release, as the newest request declared it. */
export function frozenOf({ view }: TargetSnapshot, now: number): Frozen | null {
  return frozenAt(view?.state.lastRequest?.freezes ?? [], now);
}

/** The serving revision, according to the control plane; if it is not known, according to the target. */
export function servingOf({ view, deployment }: TargetSnapshot): string | null {
  if (deployment !== undefined && typeof deployment !== 'string') return deployment.activeRevisionId;
  return view?.state.activeRevisionId ?? null;
}
