import { artifactIdentity, shortArtifact, shortCommit } from '../../domain/artifact/artifact.ts';
import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { revisionText, wordsOf } from '../../domain/deployment/revisionName.ts';
import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { standingOf } from '../../domain/intervention/standing.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { ReleaseInput } from '../../messages/workflowTypes.ts';
import { intervene, stopRelease } from '../../temporal/client/intervention/interventionClient.ts';
import { findWork } from '../../temporal/client/release/pastReleases.ts';
import { readProgress } from '../../temporal/client/target/targetClient.ts';
import { fetchFirstInput } from '../../temporal/history/fetchHistories.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import type { PageContext } from '../pageContext.ts';
import { servingOf } from '../targets/targetTexts.ts';
import { type ActionSubject, type Order, sendOnce } from './actionSubject.ts';
import { interventionOrder, UNASKED } from './interventionOrders.ts';
import type { Asking } from './offers.ts';

interface Said {
  readonly targetId: string;
  readonly releaseId: string;
  readonly kind: InterventionKind;
  readonly viewer: Asking;
}

export async function releaseSubject(
  context: PageContext,
  { targetId, releaseId, kind, viewer }: Said,
): Promise<ActionSubject | undefined> {
  const { temporal, watches } = context;
  const snapshot = await watches.snapshot(targetId);
  if (snapshot === undefined) return undefined;
  const workflowId = `${targetId}/${releaseId}`;
  const queued = snapshot.view?.state.queue.find((waiting) => waiting.releaseId === releaseId);
  const [started, progress] = await Promise.all([
    fetchFirstInput(temporal, workflowId),
    readProgress(temporal, workflowId),
  ]);
  const request = (started?.input as ReleaseInput | undefined)?.request ?? queued?.request;
  // The request of a rollback has another shape.
  if (request === undefined || !('artifact' in request)) return undefined;
  const name = `${releaseId} on ${snapshot.name}`;
  const serving = servingSentences(snapshot, releaseId, request);
  const known = progress ?? UNASKED;
  const asked = interventionOrder(
    { name, progress: known, standing: standingOf(known, request), serving },
    kind,
    viewer,
  );
  const order = started === undefined ? queuedOrder(asked, kind) : asked;
  return {
    order,
    back: { address: releaseAddress(targetId, releaseId), name },
    send: (fields, message, proverFor) => {
      const prove = proverFor(request.recordStore, request.approval);
      const said = { ...message, what: kind === 'skip' ? fields['what'] : undefined };
      return sendOnce({
        button: order.button,
        requestId: message.requestId,
        send: () =>
          kind === 'abort'
            ? stopRelease(temporal, targetId, releaseId, message, prove)
            : intervene(temporal, targetId, kind, said, releaseId, prove),
        ended: async () => (await findWork(temporal, workflowId))?.result?.interventions,
      });
    },
  };
}

/** A queued release can only be withdrawn. */
function queuedOrder(order: Order, kind: InterventionKind): Order {
  return kind === 'abort'
    ? {
        ...order,
        sentences: ['It has not begun: it is withdrawn, and ends “aborted”.', ...order.sentences.slice(2)],
      }
    : { ...order, problem: 'the release has not begun' };
}

function servingSentences(
  snapshot: TargetSnapshot,
  releaseId: string,
  { artifact, commit }: Pick<ReleaseRequest, 'artifact' | 'commit'>,
): readonly string[] {
  const serves = snapshot.view === undefined ? null : servingOf(snapshot);
  const words =
    serves === null || snapshot.view === undefined
      ? 'nothing that is known'
      : revisionText(wordsOf(snapshot.view.state, serves));
  const commitWords = commit === undefined ? '' : `, commit ${shortCommit(commit)}`;
  return [
    `Serves now: ${words}.`,
    `Ships: ${releaseId}${commitWords}, artifact ${shortArtifact(artifactIdentity(artifact))}.`,
  ];
}
