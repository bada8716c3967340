import {
  type InterventionKind,
  interventionProblem,
  type Standing,
} from '../../domain/intervention/intervention.ts';
import { findQuarantined } from '../../domain/target/quarantine.ts';
import type { TargetState } from '../../domain/target/targetState.ts';
import type { Viewer } from '../access/session.ts';
import { TARGET_ACTIONS, type TargetAction } from './actionAddresses.ts';

export function targetOffers(state: TargetState): readonly TargetAction[] {
  return TARGET_ACTIONS.filter((action) => targetActionProblem(state, action) === undefined);
}

/** Why an action makes no sense on a target now; `undefined`: it makes sense. */
export function targetActionProblem(state: TargetState, action: TargetAction): string | undefined {
  switch (action) {
    case 'rollback':
      return state.spec === null && state.activeRevisionId === null
        ? 'no release of the target is known'
        : undefined;
    case 'hold':
      return state.hold === null ? undefined : 'the target is on hold already';
    case 'unhold':
      return state.hold === null ? 'the target is not on hold' : undefined;
    case 'quarantine':
      return releasableArtifacts(state).length === 0
        ? 'the target knows no artifact that is not in quarantine'
        : undefined;
    case 'unquarantine':
      return blockedArtifacts(state).length === 0 ? 'no artifact is in quarantine' : undefined;
  }
}

export function releasableArtifacts(state: TargetState): readonly string[] {
  const known = state.known.flatMap(({ artifact }) => (artifact === undefined ? [] : [artifact]));
  return [...new Set(known.reverse())].filter((artifact) => findQuarantined(state, artifact) === undefined);
}

/** The artifacts in quarantine, and those from which a person has rolled back, newest first. */
export function blockedArtifacts(state: TargetState): readonly string[] {
  const left = state.known.flatMap(({ artifact, quarantined }) =>
    artifact !== undefined && quarantined === true ? [artifact] : [],
  );
  const blocked = state.quarantined.map(({ artifact }) => artifact);
  return [...new Set([...blocked.reverse(), ...left.reverse()])];
}

export type Asking = Pick<Viewer, 'name' | 'proved'>;

/** First the answers to what it waits for. */
const IN_ORDER: readonly InterventionKind[] = [
  'approve',
  'reject',
  'retry',
  'resume',
  'skip',
  'pause',
  'abort',
];

export function interventionOffers(standing: Standing, viewer: Asking): readonly InterventionKind[] {
  return IN_ORDER.filter((kind) => problemOf(standing, kind, viewer) === undefined);
}

/** Why a person cannot send an intervention now; `undefined`: they can. */
export function problemOf(
  standing: Standing,
  kind: InterventionKind,
  { name: who, proved }: Asking,
): string | undefined {
  // A person who signed in at an issuer proves this name when they press the button.
  const approval =
    proved && standing.approval !== null ? { ...standing.approval, identity: undefined } : standing.approval;
  return interventionProblem(
    { ...standing, approval },
    { kind, what: standing.ahead[0], by: { who, from: FROM } },
  );
}

/** The origin that records show for actions on the page. */
export const FROM = 'dashboard';
