import type { Period, TargetRelease } from '../../domain/delivery/measures.ts';
import { DAY_MS } from '../../domain/duration.ts';
import { OUTCOMES } from '../../domain/release/outcome.ts';

const DAYS_SHOWN = 30;
export const FILTERED_OUTCOMES = [...OUTCOMES, 'running', 'stopped'] as const;

export interface NamedRelease extends TargetRelease {
  readonly target: string;
}

/** Which releases the history shows, from its address. Empty texts match all. */
export interface HistoryFilter {
  readonly target: string;
  readonly outcome: string;
  readonly commit: string;
  readonly person: string;
  readonly search: string;
  /** Days in UTC, `2026-01-31`; `to` is the last one. Empty `to`: today. */
  readonly from: string;
  readonly to: string;
  /** From 1. */
  readonly page: number;
}

export function readHistoryFilter(query: Readonly<Record<string, string>>, now: number): HistoryFilter {
  const text = (name: string): string => (query[name] ?? '').trim().slice(0, 200);
  const day = (name: string): string => (isDay(text(name)) ? text(name) : '');
  const to = day('to');
  const end = to === '' ? now : Date.parse(to);
  const page = Number(text('page'));
  return {
    target: text('target'),
    outcome: FILTERED_OUTCOMES.find((outcome) => outcome === text('outcome')) ?? '',
    commit: text('commit'),
    person: text('person'),
    search: text('search'),
    from: day('from') === '' ? dayOf(end - DAYS_SHOWN * DAY_MS) : day('from'),
    to,
    page: Number.isInteger(page) && page > 0 ? page : 1,
  };
}

/** The time that a filter covers, in UTC: from midnight of its first day to now or the end of its last day. */
export function periodOf({ from, to }: HistoryFilter, now: number): Period {
  return { from: Date.parse(from), to: to === '' ? now : Math.min(Date.parse(to) + DAY_MS, now) };
}

export function historyQuery(filter: Partial<HistoryFilter>): string {
  const set = Object.entries(filter).filter(
    ([name, value]) => value !== '' && (name !== 'page' || value !== 1),
  );
  return new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)])).toString();
}

/** The releases that match a filter. A running release matches whenever it began. */
export function filterHistory(
  releases: readonly NamedRelease[],
  filter: HistoryFilter,
  now: number,
): readonly NamedRelease[] {
  const { from, to } = periodOf(filter, now);
  const person = filter.person.toLowerCase();
  const words = filter.search.toLowerCase().split(/\s+/u);
  return releases.filter((release) => {
    const { target, outcome, commit, requestedBy, endedAt } = release;
    const end = endedAt === null ? now : Date.parse(endedAt);
    return (
      end >= from &&
      end <= to &&
      (filter.target === '' || target === filter.target) &&
      (filter.outcome === '' || outcome === filter.outcome) &&
      (commit ?? '').startsWith(filter.commit.toLowerCase()) &&
      requestedBy.who.toLowerCase().includes(person) &&
      containsAll(release, words)
    );
  });
}

function containsAll(release: NamedRelease, words: readonly string[]): boolean {
  const { target, releaseId, outcome, reason, code, artifact, commit, requestedBy } = release;
  const { revisionId, servingRevisionId } = release;
  const texts = [target, releaseId, outcome, reason, code, artifact, commit, revisionId, servingRevisionId];
  const all = [...texts, requestedBy.who, requestedBy.reason].join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/u.test(text) && !Number.isNaN(Date.parse(text));
}
