import { Hono } from 'hono';

import { daysOf, measureDelivery } from '../../domain/delivery/measures.ts';
import { targetHistories, type TargetHistory } from '../../temporal/client/release/targetHistories.ts';
import type { PageEnv } from '../access/session.ts';
import type { PageContext } from '../pageContext.ts';
import {
  filterHistory,
  type HistoryFilter,
  type NamedRelease,
  periodOf,
  readHistoryFilter,
} from './historyFilter.ts';
import { HistoryFilters, HistoryTable } from './historyView.tsx';
import { MeasuresView } from './measuresView.tsx';
import { olderReleases } from './olderReleases.ts';

export function historyRoutes({ temporal, watches }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  routes.get('/history', async (c) => {
    const now = Date.now();
    const filter = readHistoryFilter(c.req.query(), now);
    const histories = await targetHistories(temporal, (workflowId) => watches.view(workflowId));
    const { releases, notes } = await withOlder(histories, filter, now);
    const targets = [...new Set(histories.map(({ name }) => name))];
    const ofTarget = releases.filter(({ target }) => filter.target === '' || target === filter.target);
    const period = periodOf(filter, now);
    return c.render(
      <>
        <h1>History</h1>
        <HistoryFilters filter={filter} targets={targets} now={now} />
        {notes.map((note) => (
          <p class="note">{note}</p>
        ))}
        <MeasuresView measures={measureDelivery(ofTarget, period)} days={daysOf(ofTarget, period)} />
        <p class="quiet">
          The measures are those of {filter.target === '' ? 'all targets' : `“${filter.target}”`} from{' '}
          {filter.from} to {filter.to === '' ? 'now' : filter.to}, regardless of other filters.
        </p>
        <section aria-labelledby="releases">
          <h2 id="releases">Releases and rollbacks</h2>
          <HistoryTable filter={filter} releases={filterHistory(releases, filter, now)} />
        </section>
      </>,
      { title: 'History', part: 'History' },
    );
  });
  return routes;
}

async function withOlder(
  histories: readonly TargetHistory[],
  filter: HistoryFilter,
  now: number,
): Promise<{ readonly releases: readonly NamedRelease[]; readonly notes: readonly string[] }> {
  const { from } = periodOf(filter, now);
  const all = await Promise.all(
    histories.map(async (history) => {
      const { workflowId: targetId, name: target, unanswered } = history;
      const isMeant = filter.target === '' || filter.target === target;
      const older = isMeant ? await olderReleases(history, from) : { releases: [], missing: null };
      const missing =
        unanswered === null
          ? older.missing
          : `${unanswered.message}; these are the newest that Temporal keeps`;
      return {
        releases: [...history.releases, ...older.releases].map((past): NamedRelease => ({
          ...past,
          targetId,
          target,
        })),
        notes: missing === null ? [] : [`“${target}”: ${missing}.`],
      };
    }),
  );
  return {
    releases: all.flatMap(({ releases }) => releases).sort((one, other) => endOf(other) - endOf(one)),
    notes: all.flatMap(({ notes }) => notes),
  };
}

/** Running releases are the newest. */
function endOf({ endedAt }: NamedRelease): number {
  return endedAt === null ? Number.MAX_SAFE_INTEGER : Date.parse(endedAt);
}
