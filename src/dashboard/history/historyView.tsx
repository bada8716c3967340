import { nameAndMark } from '../../domain/actor.ts';
import { releaseAddress, targetAddress } from '../../domain/dashboard/addresses.ts';
import { ArtifactName, Commit, OutcomeChip, ScrollTable } from '../page/marks.tsx';
import { Moment } from '../page/times.tsx';
import {
  dayOf,
  FILTERED_OUTCOMES,
  type HistoryFilter,
  historyQuery,
  type NamedRelease,
} from './historyFilter.ts';
import { DAY_MS } from '../../domain/duration.ts';

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

export function HistoryFilters({ filter, targets, now }: Omit<HistoryProps, 'releases'>) {
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

export function HistoryTable({ filter, releases }: Pick<HistoryProps, 'filter' | 'releases'>) {
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
      {pages === 1 ? null : (
        <nav aria-label="Pages of the history" class="pages">
          {page > 1 ? <a href={historyAddress({ ...filter, page: page - 1 })}>Newer</a> : null}
          <span>
            Page {page} of {pages}
          </span>
          {page < pages ? <a href={historyAddress({ ...filter, page: page + 1 })}>Older</a> : null}
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
      <td>{at === null ? null : <Moment at={at} />}</td>
      <td>
        <a href={targetAddress(targetId)}>{target}</a>
      </td>
      <td>
        <a href={releaseAddress(targetId, releaseId)}>{releaseId}</a>
      </td>
      <td>
        <OutcomeChip outcome={outcome} kind={kind} />
      </td>
      <td>{commit === null ? null : <Commit commit={commit} />}</td>
      <td>{artifact === null ? null : <ArtifactName artifact={artifact} />}</td>
      <td>{nameAndMark(requestedBy)}</td>
      <td class="why">{[requestedBy.reason, reason].filter(Boolean).join(': ')}</td>
    </tr>
  );
}

function historyAddress(filter: HistoryFilter): string {
  return `/history?${historyQuery(filter)}`;
}
