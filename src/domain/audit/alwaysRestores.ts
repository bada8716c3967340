import { withCopies } from '../deployment/revision.ts';
import type { ReleaseRequest, RollbackRequest } from '../release/release.ts';
import { isQuarantined, restoreCandidates } from '../restore/restoreDecision.ts';
import type { WorkFact } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 5: once a PATCH was, or may have been, taken, a failure restores. A restore never goes round, and a rollback is
 * never rolled back. What a person left, or what is in quarantine, is restored only by name.
 */
export const alwaysRestores: Rule = ({ target }) =>
  target.works.flatMap((work) => [...notRestored(work), ...goneRound(work), ...restoredLeft(work)]);

function notRestored({ workflowId, kind, activities, request, known, result }: WorkFact): Violation[] {
  if (kind === 'rollback' || result === null || result.outcome === 'released') return [];
  const patched = activities.findIndex(
    ({ name, mayHaveBeenTaken }) => name === 'patchDeployment' && mayHaveBeenTaken,
  );
  if (patched === -1) return [];
  const restored = activities.slice(patched).some(({ name }) => name === 'redeployRevision');
  if (restored || (request as ReleaseRequest).onError?.then === 'stop') return [];
  const { baseline, revisionId, preemptedBy, knownRevisions } = result;
  const all = [...known, ...knownRevisions];
  const left = knownRevisions.filter(({ quarantined }) => quarantined === true);
  const candidates = restoreCandidates({
    to: preemptedBy?.to,
    baseline,
    known: all,
    avoid: [
      ...(revisionId === null ? [] : [revisionId]),
      ...left.flatMap((one) => withCopies(all, one.revisionId)),
    ],
  });
  if (candidates.length === 0) return [];
  const what = `its PATCH may have been taken, it ended ${result.outcome}, and nothing was put back`;
  return [{ rule: 5, workflowId, what }];
}

function restoredLeft({ workflowId, kind, activities, request, known, result }: WorkFact): Violation[] {
  const named = kind === 'rollback' ? (request as RollbackRequest).to : result?.preemptedBy?.to;
  const restored = activities
    .filter(({ name }) => name === 'redeployRevision')
    .map(({ input }) => String(input['revisionId']));
  const left = restored.find((revisionId) => revisionId !== named && isQuarantined(known, revisionId));
  if (left === undefined) return [];
  return [
    { rule: 5, workflowId, what: `revision ${left} was restored, although it is restored only by name` },
  ];
}

/** The same revision may be asked for again at once, after an unknown answer; not after another one was tried. */
function goneRound({ workflowId, activities }: WorkFact): Violation[] {
  const asked = activities
    .filter(({ name }) => name === 'redeployRevision')
    .map(({ input }) => String(input['revisionId']));
  const turns = asked.filter((revisionId, index) => revisionId !== asked[index - 1]);
  const repeated = turns.find((revisionId, index) => turns.indexOf(revisionId) !== index);
  if (repeated === undefined) return [];
  return [{ rule: 5, workflowId, what: `revision ${repeated} was put back a second time after another one` }];
}
