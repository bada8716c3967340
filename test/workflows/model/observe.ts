import type { TargetView } from '../../../src/messages/target.ts';
import { ARTIFACTS } from './plan.ts';
import { artifactOf, type ScriptedWorld } from './scriptedWorld.ts';
import type { TargetModel } from './targetModel.ts';

/** The compared state: who holds the lock, what waits, what serves, what is known, and how all of it ended. */
export interface Observed {
  readonly running: string | null;
  readonly queue: readonly string[];
  readonly rollbacks: number;
  readonly onHold: boolean;
  readonly serving: number | null;
  readonly believed: number | null;
  readonly revisions: number;
  readonly known: readonly {
    readonly revision: number;
    readonly verified: boolean;
    readonly shunned: boolean;
    readonly copyOf: number | null;
  }[];
  readonly quarantined: readonly string[];
  readonly late: readonly { readonly revision: number; readonly restoreTo: number }[];
  readonly drift: { readonly expected: number; readonly found: number | null } | null;
  /** What is guarded, or how the guard ended. */
  readonly guard: string | null;
  readonly endings: readonly string[];
  readonly ignored: number;
}

const IGNORED_MAX = 20;
/** Another revision serves than the named one. */
const MISSED = ', instead of the one that was named';

export function expected(model: TargetModel): Observed {
  return {
    running: model.running?.id ?? null,
    queue: model.queue.map(({ id }) => id),
    rollbacks: model.rollbacks.length,
    onHold: model.hold !== null,
    serving: model.active,
    believed: model.believed,
    revisions: model.revisions.size,
    known: model.known.map((one) => ({
      revision: one.revision,
      verified: one.verified,
      shunned: model.isShunned(one),
      copyOf: one.copyOf ?? null,
    })),
    quarantined: [...model.quarantined].sort(),
    late: model.late,
    drift: model.drift,
    guard:
      model.guard === null ? null : guardText(model.guard.release, model.guard.revision, model.guard.ended),
    endings: model.endings.map(
      ({ id, outcome, serving, missed }) =>
        `${id} ${outcome}, serving ${serving ?? 'nothing'}${missed === true ? MISSED : ''}`,
    ),
    ignored: Math.min(model.ignored, IGNORED_MAX),
  };
}

export function observed({ state, running }: TargetView, world: ScriptedWorld): Observed {
  const number = (revisionId: string): number => world.revisionNumber(revisionId);
  const numberOrNull = (revisionId: string | null): number | null =>
    revisionId === null ? null : number(revisionId);
  return {
    running: running?.releaseId ?? null,
    queue: state.queue.map(({ releaseId }) => releaseId),
    rollbacks: state.rollbacks.length,
    onHold: state.hold !== null,
    serving: numberOrNull(world.active),
    believed: numberOrNull(state.activeRevisionId),
    revisions: world.deployment?.revisions.length ?? 0,
    known: state.known.map(({ revisionId, verified, quarantined, copyOf = null }) => ({
      revision: number(revisionId),
      verified,
      shunned: quarantined === true,
      copyOf: numberOrNull(copyOf),
    })),
    quarantined: state.quarantined.map(({ artifact }) => nameOf(artifact)).sort(),
    late: state.late.map(({ revisionId, restoreTo }) => ({
      revision: number(revisionId),
      restoreTo: number(restoreTo),
    })),
    drift:
      state.drift === null
        ? null
        : { expected: number(state.drift.expected), found: numberOrNull(state.drift.found) },
    guard:
      state.guard === undefined
        ? null
        : guardText(state.guard.releaseId, number(state.guard.revisionId), state.guard.ended?.verdict),
    endings: state.history.map(
      ({ releaseId, outcome, servingRevisionId, code }) =>
        `${releaseId} ${outcome}, serving ${numberOrNull(servingRevisionId) ?? 'nothing'}` +
        (code === 'SLIPWAY_REVISION_NOT_REACHED' ? MISSED : ''),
    ),
    ignored: state.ignored.length,
  };
}

function guardText(release: string, revision: number, ended: string | undefined): string {
  return `${release}, revision ${revision}, ${ended ?? 'goes on'}`;
}

function nameOf(artifact: string): string {
  return ARTIFACTS.find((name) => artifactOf(name) === artifact) ?? artifact;
}
