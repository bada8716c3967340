import { whoAndWhy } from '../../domain/actor.ts';
import { shortArtifact, shortCommit } from '../../domain/artifact/artifact.ts';
import { isSameRevision } from '../../domain/deployment/revision.ts';
import { revisionText, wordsOf } from '../../domain/deployment/revisionName.ts';
import { previousVerified } from '../../domain/restore/restoreDecision.ts';
import { findQuarantined } from '../../domain/target/quarantine.ts';
import type { QueuedRelease } from '../../domain/target/targetState.ts';
import type { TargetView } from '../../messages/target.ts';
import { momentText } from '../page/marks.tsx';
import type { TargetAction } from './actionAddresses.ts';
import type { Choice, Order } from './actionSubject.ts';
import { blockedArtifacts, releasableArtifacts, targetActionProblem } from './offers.ts';

interface TargetStanding extends TargetView {
  readonly name: string;
  /** The revision that serves. `null`: none, or it is not known. */
  readonly serves: string | null;
  /** Whether the control plane has just answered that. */
  readonly isRead: boolean;
}

/** The choice that lets the target choose the revision. */
export const NEWEST_VERIFIED = 'newest';

export function targetOrder(target: TargetStanding, action: TargetAction): Order {
  return { ...ORDERS[action](target), problem: targetActionProblem(target.state, action) };
}

const ORDERS: Readonly<Record<TargetAction, (target: TargetStanding) => Order>> = {
  rollback: rollbackOrder,
  hold: holdOrder,
  unhold: unholdOrder,
  quarantine: quarantineOrder,
  unquarantine: unquarantineOrder,
};

function rollbackOrder(target: TargetStanding): Order {
  const { name, state, running, serves, isRead } = target;
  const { known } = state;
  const newest = previousVerified(known, serves);
  const others = known
    .filter(
      ({ revisionId, verified }) =>
        verified && revisionId !== newest && (serves === null || !isSameRevision(known, revisionId, serves)),
    )
    .toReversed();
  const choices: Choice[] = [
    {
      value: NEWEST_VERIFIED,
      label: 'The newest verified revision of an earlier release',
      detail:
        newest === undefined
          ? 'The target has none. The worker checks again, and changes nothing if there is none.'
          : `Will serve: ${contents(target, newest)}.`,
    },
    ...others.map(({ revisionId, quarantined }) => ({
      value: revisionId,
      label: `${wordsOf(state, revisionId).release ?? 'A revision made outside of Slipway'}, revision ${revisionId.slice(0, 8)}`,
      detail: `Will serve: ${contents(target, revisionId)}.${quarantined === true ? ' In quarantine: restored only by name.' : ''}`,
    })),
  ];
  return {
    title: `Roll back ${name}`,
    sentences: [
      servesNow(target),
      ...(running?.kind === 'release' ? [`${running.releaseId}, which runs, is stopped.`] : []),
      ...(running?.kind === 'rollback' ? [`${running.releaseId}, which runs, ends first.`] : []),
      ...rejectsWaiting(target),
      state.hold === null
        ? `${name} is put on hold: it rejects releases until a person ends the hold.`
        : `${name} stays on hold.`,
      'The revision is restored under the checks that it passed, and they run again.',
    ],
    choose: { field: 'to', legend: 'What will serve', choices },
    button: 'Roll back',
    // The person wants to leave the revision that the page shows. If what runs may have replaced it, the worker reads it.
    carried: serves === null || (running !== null && !isRead) ? {} : { serving: serves },
  };
}

function holdOrder(target: TargetStanding): Order {
  const { name, running } = target;
  return {
    title: `Hold ${name}`,
    sentences: [
      servesNow(target),
      `${name} rejects releases until a person ends the hold. Rollbacks are accepted.`,
      ...rejectsWaiting(target, ({ request }) => request.overrideHold !== true),
      ...(running === null ? [] : [`${running.releaseId}, which runs, continues.`]),
    ],
    button: 'Hold',
  };
}

function unholdOrder(target: TargetStanding): Order {
  const { name, state } = target;
  const { hold } = state;
  return {
    title: `End the hold of ${name}`,
    sentences: [
      ...(hold === null ? [] : [`On hold since ${momentText(hold.since)}, set by ${whoAndWhy(hold.by)}.`]),
      servesNow(target),
      `${name} accepts releases again. This releases nothing by itself.`,
    ],
    button: 'End the hold',
    answers: hold?.since,
  };
}

function quarantineOrder(target: TargetStanding): Order {
  const { name, state, serves } = target;
  const servedArtifact = serves === null ? null : wordsOf(state, serves).artifact;
  return {
    title: `Quarantine an artifact on ${name}`,
    sentences: [
      servesNow(target),
      `${name} rejects releases of the artifact, also those that wait, and restores its revisions only by name.`,
      'What serves continues to serve: to replace it, roll back.',
    ],
    choose: {
      field: 'artifact',
      legend: 'The artifact',
      choices: releasableArtifacts(state).map((artifact) => ({
        value: artifact,
        label: shortArtifact(artifact),
        detail: `${releasesOf(target, artifact)}${artifact === servedArtifact ? ' It serves now.' : ''}`,
      })),
    },
    button: 'Quarantine',
  };
}

function unquarantineOrder(target: TargetStanding): Order {
  const { name, state } = target;
  return {
    title: `End an artifact’s quarantine on ${name}`,
    sentences: [
      `${name} accepts releases of the artifact again, and may restore its revisions automatically. Its failed checks no longer count.`,
    ],
    choose: {
      field: 'artifact',
      legend: 'The artifact',
      choices: blockedArtifacts(state).map((artifact) => {
        const quarantined = findQuarantined(state, artifact);
        const since =
          quarantined === undefined
            ? 'A person rolled back from it.'
            : `In quarantine since ${momentText(quarantined.since)}, by ${whoAndWhy(quarantined.by)}.`;
        return {
          value: artifact,
          label: shortArtifact(artifact),
          detail: `${since} ${releasesOf(target, artifact)}`,
        };
      }),
    },
    button: 'End the quarantine',
  };
}

function servesNow(target: TargetStanding): string {
  const { serves } = target;
  return serves === null ? 'Nothing is known to serve now.' : `Serves now: ${contents(target, serves)}.`;
}

function contents({ state }: TargetStanding, revisionId: string): string {
  const words = revisionText(wordsOf(state, revisionId));
  const known = state.known.findLast((other) => other.revisionId === revisionId);
  if (known === undefined) return `${words}, not known to be verified`;
  return `${words}, ${known.verified ? 'verified' : 'not verified, checked'} ${momentText(known.at)}`;
}

function rejectsWaiting(
  { state: { queue } }: TargetStanding,
  rejects: (queued: QueuedRelease) => boolean = () => true,
): readonly string[] {
  const ids = queue.filter(rejects).map(({ releaseId }) => releaseId);
  return ids.length === 0
    ? []
    : [`${ids.join(', ')}, which ${ids.length === 1 ? 'waits, is' : 'wait, are'} rejected.`];
}

function releasesOf({ state }: TargetStanding, artifact: string): string {
  const known = state.known.filter((revision) => revision.artifact === artifact);
  const releases = [...new Set(known.flatMap(({ release }) => (release === undefined ? [] : [release])))];
  const commit = known.find((revision) => revision.commit !== undefined)?.commit;
  const of = releases.length === 0 ? 'Not released from here' : `Of ${releases.join(', ')}`;
  return `${of}${commit === undefined ? '' : `, commit ${shortCommit(commit)}`}.`;
}
