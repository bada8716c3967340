import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { standingOf, type StandingRequest } from '../../domain/intervention/standing.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { FoundRelease } from '../../inspection/release/findRelease.ts';
import type { TargetView } from '../../messages/target.ts';
import type { ListedPromotion } from '../../temporal/client/promotion/promotionClient.ts';
import { mayRelease, type Viewer } from '../access/session.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import {
  promotionActionAddress,
  releaseActionAddress,
  type TargetAction,
  targetActionAddress,
} from './actionAddresses.ts';
import { interventionWord } from './interventionOrders.ts';
import { interventionOffers, problemOf, targetOffers } from './offers.ts';
import { promotionStanding } from './promotionSubject.ts';

interface OfViewer {
  readonly viewer: Viewer;
}

const TARGET_WORDS: Readonly<Record<TargetAction, string>> = {
  rollback: 'Roll back …',
  hold: 'Hold …',
  unhold: 'End the hold …',
  quarantine: 'Quarantine …',
  unquarantine: 'End a quarantine …',
};

export function TargetActions({
  workflowId,
  view: { state },
  viewer,
}: OfViewer & { readonly workflowId: string; readonly view: TargetView }) {
  if (!mayRelease(viewer)) return null;
  return (
    <nav class="actions" aria-label={`Actions on ${state.spec?.name ?? 'the target'}`}>
      {targetOffers(state).map((action) => (
        <a href={targetActionAddress(workflowId, action)}>{TARGET_WORDS[action]}</a>
      ))}
    </nav>
  );
}

export function RunningActions({
  snapshot: { workflowId, view, progress },
  viewer,
}: OfViewer & { readonly snapshot: TargetSnapshot }) {
  const running = view?.running ?? null;
  if (running === null || progress === undefined) return null;
  const last = view?.state.lastRequest ?? null;
  return (
    <Interventions
      viewer={viewer}
      progress={progress}
      // The last request may belong to a newer, queued release.
      request={last?.requestKey === running.requestKey ? last : null}
      name={running.releaseId}
      addressOf={(kind) => releaseActionAddress(workflowId, running.releaseId, kind)}
    />
  );
}

export function StoryActions({
  targetId,
  found: { past, progress, request },
  viewer,
}: OfViewer & {
  readonly targetId: string;
  readonly found: Pick<FoundRelease, 'past' | 'progress' | 'request'>;
}) {
  if (progress === null || past.outcome !== 'running') return null;
  return (
    <Interventions
      viewer={viewer}
      progress={progress}
      request={request !== null && 'artifact' in request ? request : null}
      name={past.releaseId}
      addressOf={(kind) => releaseActionAddress(targetId, past.releaseId, kind)}
    />
  );
}

export function PromotionActions({
  promotion: { workflowId, request, view },
  viewer,
}: OfViewer & { readonly promotion: Pick<ListedPromotion, 'workflowId' | 'request' | 'view'> }) {
  if (view.state !== 'running' || view.progress === undefined) return null;
  return (
    <Interventions
      viewer={viewer}
      progress={view.progress}
      request={promotionStanding(request)}
      name={request.name}
      addressOf={(kind) => promotionActionAddress(workflowId, kind)}
    />
  );
}

const NOT_KNOWN: StandingRequest = { checks: [], soakMs: 0, requestedBy: { who: '', from: '' } };

function Interventions({
  viewer,
  progress,
  request,
  name,
  addressOf,
}: OfViewer & {
  readonly progress: Progress;
  /** `null`: not known. The action's own page reads it. */
  readonly request: StandingRequest | null;
  readonly name: string;
  readonly addressOf: (kind: InterventionKind) => string;
}) {
  if (!mayRelease(viewer) || progress.kind === 'rollback') return null;
  const standing = standingOf(progress, request ?? NOT_KNOWN);
  const offers = interventionOffers(standing, viewer);
  const whyNot = standing.awaiting === 'approval' ? problemOf(standing, 'approve', viewer) : undefined;
  if (offers.length === 0) return null;
  return (
    <nav class="actions" aria-label={`Actions on ${name}`}>
      {offers.map((kind) => (
        <a href={addressOf(kind)}>{`${interventionWord(kind)} …`}</a>
      ))}
      {whyNot && <span class="quiet small">You cannot approve: {whyNot}.</span>}
    </nav>
  );
}
