import { Hono } from 'hono';

import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { promotionAddress } from '../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { JudgeReport, Trial } from '../../domain/judge/report.ts';
import { targetWorkflowId } from '../../domain/target/targetSpec.ts';
import { ID_PREFIXES } from '../../messages/workflowTypes.ts';
import { type ListedPromotion, readPromotion } from '../../temporal/client/promotion/promotionClient.ts';
import type { ListedTarget } from '../../temporal/client/target/targetClient.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import type { PageEnv, Viewer } from '../access/session.ts';
import { ActionResult } from '../actions/actionPage.tsx';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { liveTargets } from '../live/targetWatches.ts';
import type { PageContext } from '../pageContext.ts';
import type { JudgementShown } from './judgement.tsx';
import { PromotionDetails } from './promotionPage.tsx';
import { Promotions } from './promotionsPage.tsx';
import { PromotionWatch } from './promotionWatch.ts';

export function promotionRoutes({ temporal, watches, rooms }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const watch = new PromotionWatch(temporal);

  const targetsOf = async (promotions: readonly ListedPromotion[]): Promise<readonly ListedTarget[]> => {
    const ids = new Set(
      promotions.flatMap(({ request: { from, to } }) => [targetWorkflowId(from), targetWorkflowId(to)]),
    );
    return (await watches.targets()).filter(({ workflowId }) => ids.has(workflowId));
  };
  const find = async (id: string): Promise<ListedPromotion | undefined> => {
    const { promotions, sealed } = await watch.promotions();
    const problem = sealed.get(id);
    if (problem !== undefined) throw problem;
    const listed = promotions.find(({ workflowId }) => workflowId === id);
    // Temporal lists a new promotion with a delay.
    return (
      listed ?? (id.startsWith(ID_PREFIXES.promotion) ? await readPromotion(temporal, id, []) : undefined)
    );
  };

  routes.get('/promotions', async (c) => {
    const viewer = c.get('viewer');
    const listed = await watch.promotions();
    const snapshots = await watches.snapshots(await targetsOf(listed.promotions));
    return c.render(<Promotions {...listed} snapshots={snapshots} viewer={viewer} now={Date.now()} />, {
      title: 'Promotions',
      part: 'Promotions',
      live: '/live/promotions',
    });
  });
  routes.get('/live/promotions', (c) =>
    rooms.open('/promotions', c.var, async () => {
      const targets = await targetsOf((await watch.promotions()).promotions);
      return watch.alsoIn(
        await liveTargets(
          watches,
          targets,
          (snapshots, viewer) => ({
            promotions: (
              <Promotions {...watch.current} snapshots={snapshots} viewer={viewer} now={Date.now()} />
            ),
          }),
          () => targetsOf(watch.current.promotions),
        ),
      );
    }),
  );

  const propsOf = async (
    promotion: ListedPromotion,
    snapshots: readonly TargetSnapshot[],
    viewer: Viewer,
  ) => ({
    promotion,
    snapshots,
    viewer,
    now: Date.now(),
    judged: await readJudgement(promotion),
    temporalPage:
      promotion.view.state === 'none' ? null : workflowPage(temporal.settings, promotion.workflowId),
  });
  routes.get('/promotions/:id', async (c) => {
    const id = c.req.param('id');
    const promotion = await find(id);
    if (promotion === undefined) return c.notFound();
    const snapshots = await watches.snapshots(await targetsOf([promotion]));
    return c.render(
      <>
        <ActionResult c={c} />
        <PromotionDetails {...await propsOf(promotion, snapshots, c.get('viewer'))} />
      </>,
      {
        title: promotion.request.name,
        part: 'Promotions',
        live: `/live${promotionAddress(id)}`,
        charts: true,
      },
    );
  });
  routes.get('/live/promotions/:id', async (c) => {
    const id = c.req.param('id');
    const first = await find(id);
    if (first === undefined) return c.notFound();
    const targets = await targetsOf([first]);
    return rooms.open(promotionAddress(id), c.var, async () =>
      watch.alsoIn(
        await liveTargets(watches, targets, async (snapshots, viewer) => {
          const promotion = watch.current.promotions.find(({ workflowId }) => workflowId === id) ?? first;
          const props = await propsOf(promotion, snapshots, viewer);
          return { promotion: <PromotionDetails {...props} /> };
        }),
      ),
    );
  });
  return routes;
}

async function readJudgement({ view, request }: ListedPromotion): Promise<JudgementShown | null> {
  const judgement =
    view.state === 'running'
      ? view.progress?.judgement
      : view.state === 'ended'
        ? view.result.judgement
        : undefined;
  if (judgement == null) return null;
  try {
    const store = openArtifactStore(request.store);
    const report = (await store.getRecord(judgement.report)) as JudgeReport | undefined;
    if (report === undefined) return null;
    const folder = judgement.report.replace(/[^/]+$/, 'trials/');
    const names = await store.listRecords(folder);
    const batches = await Promise.all(names.map((name) => store.getRecord(name)));
    return { report, trials: (batches as (readonly Trial[])[]).flat() };
  } catch (error) {
    if (error instanceof SlipwayError) return null;
    throw error;
  }
}
