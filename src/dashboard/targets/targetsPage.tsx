import type { Viewer } from '../access/viewer.ts';
import type { Fragments } from '../live/liveRooms.ts';
import type { TargetSnapshot } from '../live/targetSnapshot.ts';
import { targetAddress } from '../../domain/dashboard/addresses.ts';
import { renderText } from '../page/html.ts';
import { cardId, TargetCard } from './targetCard.tsx';
import { headlineOf } from './targetTexts.ts';

interface TargetsProps {
  readonly snapshots: readonly TargetSnapshot[];
  readonly viewer: Viewer;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** All targets: first one sentence for each that needs a person, then one card for each. */
export function Targets({ snapshots, viewer, now }: TargetsProps) {
  const byName = [...snapshots].sort((one, other) => one.name.localeCompare(other.name));
  return (
    <>
      <h1>Targets</h1>
      <Summary snapshots={snapshots} now={now} />
      <div id="targets" class="cards" data-grows>
        {snapshots.length === 0 ? (
          <p class="empty">
            No target has taken a release yet. In an agent’s folder, type <code>slipway release</code>.
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
  return new Map([
    ['summary', renderText(<Summary snapshots={snapshots} now={now} />)],
    ...snapshots.map(
      (snapshot) =>
        [
          cardId(snapshot.workflowId),
          renderText(<TargetCard snapshot={snapshot} viewer={viewer} now={now} />),
        ] as const,
    ),
  ]);
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
