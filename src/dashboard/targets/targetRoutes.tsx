import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { Hono } from 'hono';

import { promotionAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import type { ListedPromotion } from '../../temporal/client/promotion/promotionClient.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import type { PageEnv, Viewer } from '../access/session.ts';
import { ActionResult } from '../actions/actionPage.tsx';
import { EventApprovals } from '../hooks/hooksView.tsx';
import type { Fragments } from '../live/liveRooms.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { LIST_SHOWN_MS, liveTargets } from '../live/targetWatches.ts';
import { Chip } from '../page/marks.tsx';
import { inNameOrder } from '../page/nameOrder.ts';
import type { PageContext } from '../pageContext.ts';
import { promotionHeadline } from '../promotions/promotionsPage.tsx';
import { PromotionWatch } from '../promotions/promotionWatch.ts';
import { runningPromotions, waitingPromotions, WaitingPromotions } from '../promotions/waitingPromotions.tsx';
import { TargetDetails, targetFragments } from './targetPage.tsx';
import { Alarm, Conditions, Past, Queue, Running, Serving } from './targetParts.tsx';
import { headlineOf } from './targetTexts.ts';

/** How long the page waits for the promotions, in milliseconds. Then it shows them as they are read. */
const PROMOTIONS_READ_MS = 300;

export function targetRoutes({ temporal, watches, rooms, hooksOfFile }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const watch = new PromotionWatch(temporal, runningPromotions);
  const listed = (snapshots: readonly TargetSnapshot[], viewer: Viewer): TargetsProps => {
    return { snapshots, promotions: waitingPromotions(watch.current.promotions), viewer, now: Date.now() };
  };

  routes.get('/', async (c) => {
    const read = watch.promotions().catch(() => undefined);
    const [snapshots] = await Promise.all([
      watches.targets(LIST_SHOWN_MS).then((targets) => watches.snapshots(targets)),
      Promise.race([read, sleep(PROMOTIONS_READ_MS)]),
    ]);
    return c.render(<Targets {...listed(snapshots, c.get('viewer'))} />, {
      title: 'Targets',
      part: 'Targets',
      live: '/live/targets',
      isWhole: areRead(snapshots),
    });
  });
  routes.get('/live/targets', (c) =>
    rooms.open('/', c.var, async () =>
      watch.alsoIn(
        await liveTargets(
          watches,
          await watches.targets(LIST_SHOWN_MS),
          (snapshots, viewer) => targetsFragments(listed(snapshots, viewer)),
          () => watches.targets(),
        ),
      ),
    ),
  );

  const propsOf = (snapshot: TargetSnapshot) => ({
    snapshot,
    hooksOfFile,
    now: Date.now(),
    temporalPage: workflowPage(temporal.settings, snapshot.workflowId),
  });
  routes.get('/targets/:id', async (c) => {
    const snapshot = await watches.snapshot(c.req.param('id'));
    if (snapshot === undefined) return c.notFound();
    const live = `/live${targetAddress(snapshot.workflowId)}`;
    return c.render(
      <>
        <ActionResult c={c} />
        <TargetDetails {...propsOf(snapshot)} viewer={c.get('viewer')} />
      </>,
      { title: snapshot.name, part: 'Targets', live },
    );
  });
  routes.get('/live/targets/:id', async (c) => {
    const target = await watches.target(c.req.param('id'));
    if (target === undefined) return c.notFound();
    return rooms.open(targetAddress(target.workflowId), c.var, () =>
      liveTargets(watches, [target], ([snapshot], viewer) =>
        snapshot === undefined ? {} : targetFragments({ ...propsOf(snapshot), viewer }),
      ),
    );
  });
  return routes;
}

interface TargetsProps {
  readonly snapshots: readonly TargetSnapshot[];
  /** Those that wait for a person. */
  readonly promotions: readonly ListedPromotion[];
  readonly viewer: Viewer;
  readonly now: number;
}

export function Targets(props: TargetsProps) {
  const { snapshots, viewer, now } = props;
  return (
    <>
      <h1>Targets</h1>
      <Summary {...props} />
      <WaitingPromotions {...props} />
      <div id="targets" class="cards" data-grows>
        {snapshots.length === 0 && (
          <p class="empty">
            No target runs in this namespace. In an agent’s folder, <code>slipway release</code> starts one.
          </p>
        )}
        {inNameOrder(snapshots, ({ name }) => name).map((snapshot) => (
          <TargetCard snapshot={snapshot} viewer={viewer} now={now} />
        ))}
      </div>
    </>
  );
}

/** The parts of the page that change. The script adds the card of a new target to the others, in this order. */
function targetsFragments(props: TargetsProps): Fragments {
  const { snapshots, viewer, now } = props;
  const cards = inNameOrder(snapshots, ({ name }) => name).map((snapshot) => {
    return [
      cardId(snapshot.workflowId),
      <TargetCard snapshot={snapshot} viewer={viewer} now={now} />,
    ] as const;
  });
  return {
    summary: <Summary {...props} />,
    waiting: <WaitingPromotions {...props} />,
    ...Object.fromEntries(cards),
  };
}

/** How many targets and promotions the summary names. Those that need a person are all named. */
const NAMED_MAX = 6;

function Summary({ snapshots, promotions, now }: TargetsProps) {
  const all = [
    ...promotions.map((promotion) => ({
      name: promotion.request.name,
      address: promotionAddress(promotion.workflowId),
      headline: promotionHeadline(promotion, now),
    })),
    ...snapshots.map((snapshot) => ({
      name: snapshot.name,
      address: targetAddress(snapshot.workflowId),
      headline: headlineOf(snapshot, now),
    })),
  ];
  const urgent = all.filter(({ headline: { tone } }) => tone === 'bad');
  const waiting = all.filter(({ headline: { tone } }) => tone === 'warn');
  const moving = all.filter(({ headline: { tone } }) => tone === 'active');
  const told = [...urgent, ...waiting, ...moving];
  const named = told.slice(0, Math.max(urgent.length, NAMED_MAX));
  const more = told.length - named.length;
  return (
    <p id="summary" class={urgent.length > 0 ? 'summary bad' : 'summary'}>
      {told.length === 0
        ? snapshots.length === 0
          ? ''
          : areRead(snapshots)
            ? 'No release runs or waits.'
            : 'Reading the targets.'
        : named.map(({ name, address, headline }, index) => (
            <>
              {index === 0 ? '' : ' · '}
              <a class={headline.tone} href={address}>
                {name}
              </a>
              {` ${headline.words}`}
            </>
          ))}
      {more > 0 && ` · ${more} more below`}
    </p>
  );
}

function areRead(snapshots: readonly TargetSnapshot[]): boolean {
  return snapshots.every(({ view, silence }) => view !== undefined || silence !== undefined);
}

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
      {view?.state.spec && (
        <p class="place quiet">{`${view.state.spec.deployment} on ${new URL(view.state.spec.controlPlane).host}`}</p>
      )}
      <Alarm snapshot={snapshot} />
      <EventApprovals snapshot={snapshot} viewer={viewer} />
      <Running snapshot={snapshot} viewer={viewer} />
      {view && (
        <section>
          <h3 class="label">Serves</h3>
          <Serving snapshot={snapshot} />
        </section>
      )}
      <Conditions snapshot={snapshot} now={now} />
      <Queue snapshot={snapshot} viewer={viewer} />
      {view && <Past state={view.state} workflowId={workflowId} />}
    </article>
  );
}

function cardId(workflowId: string): string {
  return `target-${createHash('sha256').update(workflowId).digest('hex').slice(0, 12)}`;
}
