import { createHash } from 'node:crypto';

import { targetAddress } from '../../domain/dashboard/addresses.ts';
import type { Viewer } from '../access/session.ts';
import { EventApprovals } from '../hooks/hooksView.tsx';
import type { Fragments } from '../live/liveRooms.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { Chip } from '../page/marks.tsx';
import { Alarm, Conditions, Past, Queue, Running, Serving } from './targetParts.tsx';
import { headlineOf } from './targetTexts.ts';

interface TargetsProps {
  readonly snapshots: readonly TargetSnapshot[];
  readonly viewer: Viewer;
  readonly now: number;
}

export function Targets({ snapshots, viewer, now }: TargetsProps) {
  const byName = [...snapshots].sort((one, other) => one.name.localeCompare(other.name));
  return (
    <>
      <h1>Targets</h1>
      <Summary snapshots={snapshots} now={now} />
      <div id="targets" class="cards" data-grows>
        {snapshots.length === 0 ? (
          <p class="empty">
            No target runs in this namespace. In an agent’s folder, <code>slipway release</code> starts one.
          </p>
        ) : null}
        {byName.map((snapshot) => (
          <TargetCard snapshot={snapshot} viewer={viewer} now={now} />
        ))}
      </div>
    </>
  );
}

/** The parts of the page that change. If the list of targets changes, `targets` is replaced as a whole. */
export function targetsFragments({ snapshots, viewer, now }: TargetsProps): Fragments {
  const cards = snapshots.map((snapshot) => {
    return [
      cardId(snapshot.workflowId),
      <TargetCard snapshot={snapshot} viewer={viewer} now={now} />,
    ] as const;
  });
  return { summary: <Summary snapshots={snapshots} now={now} />, ...Object.fromEntries(cards) };
}

function Summary({ snapshots, now }: Pick<TargetsProps, 'snapshots' | 'now'>) {
  const all = snapshots.map((snapshot) => ({ snapshot, headline: headlineOf(snapshot, now) }));
  const urgent = all.filter(({ headline: { tone } }) => tone === 'bad');
  const waiting = all.filter(({ headline: { tone } }) => tone === 'warn');
  const moving = all.filter(({ headline: { tone } }) => tone === 'active');
  const isRead = snapshots.every(({ view, silence }) => view !== undefined || silence !== undefined);
  return (
    <p id="summary" class={urgent.length > 0 ? 'summary bad' : 'summary'}>
      {urgent.length + waiting.length + moving.length === 0
        ? snapshots.length === 0
          ? ''
          : isRead
            ? 'No release runs or waits.'
            : 'Reading the targets.'
        : [...urgent, ...waiting, ...moving].map(({ snapshot: { name, workflowId }, headline }, index) => (
            <>
              {index === 0 ? '' : ' · '}
              <a class={headline.tone} href={targetAddress(workflowId)}>
                {name}
              </a>
              {` ${headline.words}`}
            </>
          ))}
    </p>
  );
}

const PAST_SHOWN = 3;

interface TargetCardProps {
  readonly snapshot: TargetSnapshot;
  readonly viewer: Viewer;
  readonly now: number;
}

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
        <p class="place quiet">{`${view.state.spec.deployment} on ${new URL(view.state.spec.controlPlane).host}`}</p>
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

function cardId(workflowId: string): string {
  return `target-${createHash('sha256').update(workflowId).digest('hex').slice(0, 12)}`;
}
