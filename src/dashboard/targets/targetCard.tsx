import { createHash } from 'node:crypto';

import type { Viewer } from '../access/viewer.ts';
import { EventApprovals } from '../hooks/hooksView.tsx';
import type { TargetSnapshot } from '../live/targetSnapshot.ts';
import { targetAddress } from '../../domain/dashboard/addresses.ts';
import { Chip } from '../page/marks.tsx';
import { Alarm, Conditions, Past, Queue, Running, Serving } from './targetParts.tsx';
import { headlineOf } from './targetTexts.ts';

const PAST_SHOWN = 3;

interface TargetCardProps {
  readonly snapshot: TargetSnapshot;
  readonly viewer: Viewer;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A target's card: what needs a person, what runs, what serves. */
export function TargetCard({ snapshot, viewer, now }: TargetCardProps) {
  const { workflowId, name, view } = snapshot;
  const { tone, words } = headlineOf(snapshot, now);
  const id = cardId(workflowId);
  return (
    <article
      id={id}
      class={`card ${tone}`}
      aria-labelledby={`${id}-name`}
      data-announce={`${name}: ${words}`}
    >
      <header>
        <h2 id={`${id}-name`}>
          <a href={targetAddress(workflowId)}>{name}</a>
        </h2>
        <Chip tone={tone}>{words}</Chip>
      </header>
      {view?.state.spec == null ? null : (
        <p class="place quiet">{`${view.state.spec.deployment} on ${hostOf(view.state.spec.controlPlane)}`}</p>
      )}
      <Alarm snapshot={snapshot} />
      <EventApprovals snapshot={snapshot} viewer={viewer} />
      <Running snapshot={snapshot} viewer={viewer} />
      {view === undefined ? null : (
        <section>
          <h3 class="label">Serves</h3>
          <Serving snapshot={snapshot} />
        </section>
      )}
      <Conditions snapshot={snapshot} now={now} />
      <Queue snapshot={snapshot} viewer={viewer} />
      {view === undefined ? null : <Past state={view.state} workflowId={workflowId} count={PAST_SHOWN} />}
    </article>
  );
}

/** The id of a target's card: always the same for the same target. */
export function cardId(workflowId: string): string {
  return `target-${createHash('sha256').update(workflowId).digest('hex').slice(0, 12)}`;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
