import { Hono } from 'hono';

import { targetAddress } from '../../domain/dashboard/addresses.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import type { PageEnv } from '../access/session.ts';
import { ActionResult } from '../actions/actionPage.tsx';
import { liveTargets } from '../live/liveTargets.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { LIST_SHOWN_MS } from '../live/targetWatches.ts';
import type { PageContext } from '../pageContext.ts';
import { TargetDetails, targetFragments } from './targetPage.tsx';
import { Targets, targetsFragments } from './targetsPage.tsx';

export function targetRoutes({ temporal, watches, rooms, hooksOfFile }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();

  routes.get('/', async (c) => {
    const snapshots = await watches.snapshots(await watches.targets(LIST_SHOWN_MS));
    const isWhole = snapshots.every(({ view, silence }) => view !== undefined || silence !== undefined);
    return c.render(<Targets snapshots={snapshots} viewer={c.get('viewer')} now={Date.now()} />, {
      title: 'Targets',
      part: 'Targets',
      live: '/live/targets',
      isWhole,
    });
  });
  routes.get('/live/targets', (c) =>
    rooms.open('/', c.var, async () =>
      liveTargets(
        watches,
        await watches.targets(LIST_SHOWN_MS),
        (snapshots, viewer) => targetsFragments({ snapshots, viewer, now: Date.now() }),
        () => watches.targets(),
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
