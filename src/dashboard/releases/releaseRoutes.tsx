import { Hono } from 'hono';

import { releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { onSlipwayError } from '../../domain/errors.ts';
import { findRelease } from '../../inspection/release/findRelease.ts';
import { releaseDifference } from '../../inspection/release/releaseDifference.ts';
import { viewTarget } from '../../temporal/client/target/targetClient.ts';
import type { PageEnv } from '../access/session.ts';
import { ActionResult } from '../actions/actionPage.tsx';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { liveTargets } from '../live/targetWatches.ts';
import type { PageContext } from '../pageContext.ts';
import { Changes } from './changesPage.tsx';
import { Story } from './releasePage.tsx';
import { readStory, releaseBefore, type ReleaseStory, storeOf } from './releaseStory.ts';

export function releaseRoutes(context: PageContext): Hono<PageEnv> {
  const { temporal, watches, rooms } = context;
  const routes = new Hono<PageEnv>();

  routes.get('/releases/:target/:release', async (c) => {
    const releaseId = c.req.param('release');
    const snapshot = await watches.snapshot(c.req.param('target'));
    if (snapshot === undefined) return c.notFound();
    const story = await readStory(context, snapshot, releaseId).catch(
      onSlipwayError(() => undefined, 'SLIPWAY_RELEASE_UNKNOWN'),
    );
    const { workflowId } = snapshot;
    if (story === undefined) {
      // The snapshot may be older than a release that was requested just now.
      const view = await viewTarget(temporal, workflowId);
      const waits = view?.state.queue.some((queued) => queued.releaseId === releaseId) === true;
      return waits ? c.redirect(targetAddress(workflowId)) : c.notFound();
    }
    const live = `/live${releaseAddress(workflowId, releaseId)}`;
    return c.render(
      <>
        <ActionResult c={c} />
        <Story story={story} viewer={c.get('viewer')} now={Date.now()} />
      </>,
      { title: `${releaseId} on ${snapshot.name}`, part: 'Targets', live: isWhole(story) ? undefined : live },
    );
  });

  routes.get('/live/releases/:target/:release', async (c) => {
    const releaseId = c.req.param('release');
    const first = await watches.snapshot(c.req.param('target'));
    if (first === undefined) return c.notFound();
    const read = storyReader(context, releaseId);
    return rooms.open(releaseAddress(first.workflowId, releaseId), c.var, () =>
      liveTargets(watches, [first], async ([snapshot = first], viewer) => {
        const story = await read(snapshot);
        return { story: <Story story={story} viewer={viewer} now={Date.now()} /> };
      }),
    );
  });

  routes.get('/releases/:target/:release/changes', async (c) => {
    const snapshot = await watches.snapshot(c.req.param('target'));
    if (snapshot === undefined) return c.notFound();
    const releaseId = c.req.param('release');
    const before = releaseBefore(snapshot, releaseId);
    const store = storeOf(snapshot);
    if (before === undefined || store === undefined) return c.notFound();
    const from = await findRelease(temporal, store, snapshot, before);
    const to = await findRelease(temporal, store, snapshot, releaseId);
    const difference = await releaseDifference(store, from, to);
    return c.render(<Changes difference={difference} workflowId={snapshot.workflowId} />, {
      title: `Changes of ${releaseId}`,
      part: 'Targets',
    });
  });
  return routes;
}

/** Whether the story never changes: the release has ended, and the target, which knows the store, has answered. */
function isWhole({ found, snapshot }: ReleaseStory): boolean {
  return found.past.outcome !== 'running' && snapshot.view !== undefined;
}

/** Reads a story repeatedly: the constant parts once, and the progress from the target's watch. */
function storyReader(
  context: PageContext,
  releaseId: string,
): (snapshot: TargetSnapshot) => Promise<ReleaseStory> {
  let last: ReleaseStory | undefined;
  return async (snapshot) => {
    const { view, progress, call } = snapshot;
    const runs = view?.running?.releaseId === releaseId && progress?.releaseId === releaseId;
    if (last !== undefined && runs && last.found.past.outcome === 'running') {
      last = { ...last, snapshot, found: { ...last.found, progress, call } };
      return last;
    }
    if (last !== undefined && isWhole(last)) return last;
    last = await readStory(context, snapshot, releaseId);
    return last;
  };
}
