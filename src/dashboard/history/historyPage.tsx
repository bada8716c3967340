import { Hono } from 'hono';

import { nameAndMark } from '../../domain/actor.ts';
import { releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { daysOf, measureDelivery } from '../../domain/delivery/measures.ts';
import { DAY_MS } from '../../domain/duration.ts';
import { targetHistories, type TargetHistory } from '../../temporal/client/release/pastReleases.ts';
import type { PageEnv } from '../access/session.ts';
import { ArtifactName, Commit, Moment, OutcomeChip, ScrollTable } from '../page/marks.tsx';
import { inNameOrder } from '../page/nameOrder.ts';
import type { PageContext } from '../pageContext.ts';
import {
  dayOf,
  FILTERED_OUTCOMES,
  filterHistory,
  type HistoryFilter,
  historyQuery,
  type NamedRelease,
  periodOf,
  readHistoryFilter,
} from './historyFilter.ts';
import { MeasuresView } from './measuresView.tsx';
import { olderReleases } from './olderReleases.ts';

export function historyRoutes({ temporal, watches }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  routes.get('/history', async (c) => {
    const now = Date.now();
    const filter = readHistoryFilter(c.req.query(), now);
    const histories = await targetHistories(temporal, (workflowId) => watches.view(workflowId));
    const { releases, notes } = await withOlder(histories, filter, now);
    const targets = inNameOrder(new Set(histories.map(({ name }) => name)), (name) => name);
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
          : `${unanswered.message}${history.releases.length === 0 ? '' : '; these are the newest that Temporal keeps'}`;
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

const ROWS = 50;
const SPANS = [
  ['7 days', 7],
  ['30 days', 30],
  ['90 days', 90],
  ['a year', 365],
] as const;

interface HistoryProps {
  readonly filter: HistoryFilter;
  readonly targets: readonly string[];
  readonly releases: readonly NamedRelease[];
  readonly now: number;
}

function HistoryFilters({ filter, targets, now }: Omit<HistoryProps, 'releases'>) {
  const { target, outcome, commit, person, search, from, to } = filter;
  return (
    <form method="get" action="/history" class="filters" role="search" aria-label="Filter the history">
      <label>
        Search
        <input type="search" name="search" value={search} />
      </label>
      <label>
        Target
        <select name="target">
          <option value="">All</option>
          {targets.map((name) => (
            <option value={name} selected={name === target}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Outcome
        <select name="outcome">
          <option value="">All</option>
          {FILTERED_OUTCOMES.map((each) => (
            <option value={each} selected={each === outcome}>
              {each.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      </label>
      <label>
        Commit
        <input type="text" name="commit" value={commit} autocomplete="off" spellcheck={false} />
      </label>
      <label>
        Person
        <input type="text" name="person" value={person} autocomplete="off" spellcheck={false} />
      </label>
      <label>
        From (UTC)
        <input type="date" name="from" value={from} />
      </label>
      <label>
        To (UTC)
        <input type="date" name="to" value={to} />
      </label>
      <button type="submit">Filter</button>
      <p class="spans">
        {SPANS.map(([name, days]) => (
          <a href={historyAddress({ ...filter, from: dayOf(now - days * DAY_MS), to: '', page: 1 })}>
            Last {name}
          </a>
        ))}
        <a href="/history">No filter</a>
      </p>
    </form>
  );
}

function HistoryTable({ filter, releases }: Pick<HistoryProps, 'filter' | 'releases'>) {
  const pages = Math.max(Math.ceil(releases.length / ROWS), 1);
  const page = Math.min(filter.page, pages);
  const first = (page - 1) * ROWS;
  const shown = releases.slice(first, first + ROWS);
  if (shown.length === 0) return <p>No release matches. Choose an earlier first day, or remove a filter.</p>;
  return (
    <>
      <p>
        {first + 1} to {first + shown.length} of {releases.length}, newest first.
      </p>
      <ScrollTable
        label="Table of releases and rollbacks"
        kind="history"
        headings={['Ended', 'Target', 'Release', 'Outcome', 'Commit', 'Artifact', 'By', 'Why']}
      >
        {shown.map((release) => (
          <HistoryRow {...release} />
        ))}
      </ScrollTable>
      {pages > 1 && (
        <nav aria-label="Pages of the history" class="pages">
          {page > 1 && <a href={historyAddress({ ...filter, page: page - 1 })}>Newer</a>}
          <span>
            Page {page} of {pages}
          </span>
          {page < pages && <a href={historyAddress({ ...filter, page: page + 1 })}>Older</a>}
        </nav>
      )}
    </>
  );
}

function HistoryRow(release: NamedRelease) {
  const { targetId, target, releaseId, kind, outcome, endedAt, startedAt } = release;
  const { artifact, commit, requestedBy, reason } = release;
  const at = endedAt ?? startedAt;
  return (
    <tr>
      <td>{at && <Moment at={at} />}</td>
      <td>
        <a href={targetAddress(targetId)}>{target}</a>
      </td>
      <td>
        <a href={releaseAddress(targetId, releaseId)}>{releaseId}</a>
      </td>
      <td>
        <OutcomeChip outcome={outcome} kind={kind} />
      </td>
      <td>{commit && <Commit commit={commit} />}</td>
      <td>{artifact && <ArtifactName artifact={artifact} />}</td>
      <td>{nameAndMark(requestedBy)}</td>
      <td class="why">{[requestedBy.reason, reason].filter(Boolean).join(': ')}</td>
    </tr>
  );
}

function historyAddress(filter: HistoryFilter): string {
  return `/history?${historyQuery(filter)}`;
}
