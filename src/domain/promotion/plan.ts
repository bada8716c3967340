import { shortArtifact } from '../artifact/artifact.ts';
import { formatDuration } from '../duration.ts';
import { frozenAt } from '../freeze/freeze.ts';
import type { OnInconclusive } from '../judge/settings.ts';
import { type PromotionSchedule, scheduleTimes } from '../schedule/schedule.ts';
import { chooseCandidate, type TargetSeen } from './candidate.ts';
import type { PromotionRequest } from './promotion.ts';

export interface Planned {
  readonly request: Pick<PromotionRequest, 'name' | 'soakMs' | 'bakeMs' | 'freezes' | 'approval'>;
  /** What to do after an inconclusive judgement; `null` if there is no judge. */
  readonly judge: OnInconclusive | null;
  readonly from: string;
  readonly to: string;
  readonly downstream: readonly string[];
  readonly schedule: PromotionSchedule;
  /** Why its schedule is paused; `null` if it is not. */
  readonly paused: string | null;
}

/** One scheduled run of a promotion, and what it does. */
export interface PlannedTurn {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly decisions: readonly PlannedDecision[];
}

/** What happens, and when: milliseconds since 1970. */
interface PlannedDecision {
  readonly at: number;
  readonly what: string;
}

/**
 * Plans the scheduled promotions between two instants. It assumes that nothing new is released, every check passes,
 * the judge finds nothing worse, people approve at once, and neither judging nor releasing takes time.
 */
export function planPromotions(
  promotions: readonly Planned[],
  seen: ReadonlyMap<string, TargetSeen>,
  from: number,
  to: number,
): readonly PlannedTurn[] {
  const targets = new Map(seen);
  const busyUntil = new Map<string, number>();
  /** Later releases, which a run that starts before them must not see. */
  const pending: { readonly at: number; readonly name: string; readonly target: TargetSeen }[] = [];
  const turns = promotions
    .flatMap((planned) => scheduleTimes(planned.schedule, from, to).map((at) => ({ planned, at })))
    .sort((one, other) => one.at - other.at);
  return turns.map(({ planned, at }) => {
    const released = pending.filter((other) => other.at <= at).sort((one, other) => one.at - other.at);
    for (const { name, target } of released) targets.set(name, target);
    const { name } = planned.request;
    const decided = decideTurn(planned, targets, at, busyUntil.get(name) ?? 0);
    if (decided.endsAt !== undefined) busyUntil.set(name, decided.endsAt);
    if (decided.released !== undefined) pending.push(decided.released);
    return { name, at, decisions: decided.decisions };
  });
}

interface DecidedTurn {
  readonly decisions: readonly PlannedDecision[];
  /** When the promotion ends; absent if it does not start. */
  readonly endsAt?: number;
  readonly released?: { readonly at: number; readonly name: string; readonly target: TargetSeen };
}

function decideTurn(
  { request, judge, paused, schedule, from: fromName, to: toName, downstream }: Planned,
  targets: ReadonlyMap<string, TargetSeen>,
  at: number,
  busyUntil: number,
): DecidedTurn {
  const only = (what: string): DecidedTurn => ({ decisions: [{ at, what }] });
  if (paused !== null) return only(`does not begin: the schedule is paused (${paused})`);
  if (busyUntil > at) return only(OVERLAPS[schedule.overlap]);
  const [from, to] = [targets.get(fromName), targets.get(toName)];
  if (from === undefined || to === undefined) return only('does not begin: its targets are not known');
  const after = downstream.flatMap((name) => targets.get(name) ?? []);
  const choice = chooseCandidate({ from, to, downstream: after });
  if (choice.kind !== 'candidate') {
    const kind = choice.kind === 'rejected' ? 'rejected' : 'nothing to do';
    return { ...only(`${kind}: ${choice.reason}`), endsAt: at };
  }

  const { artifact, verifiedAt } = choice.candidate;
  const decisions: PlannedDecision[] = [{ at, what: `begins with ${shortArtifact(artifact)}` }];
  let now = at;
  const decide = (what: string): unknown => decisions.push({ at: now, what });
  const soaked = Date.parse(verifiedAt) + request.soakMs;
  if (soaked > now) {
    now = soaked;
    decide(`has soaked for ${formatDuration(request.soakMs)}`);
  }
  if (judge !== null) decide(judgeWords(judge, toName));
  const { approval } = request;
  if (approval !== undefined) {
    const { required, withinMs, otherwise = 'reject' } = approval;
    const late = otherwise === 'approve' ? 'goes on' : 'ends aborted';
    decide(`waits for ${required} to approve, at most ${formatDuration(withinMs)}; then it ${late}`);
  }
  const frozen = frozenAt(request.freezes, now);
  if (frozen?.then === 'refuse') {
    decide(`ends aborted: frozen by "${frozen.name}"`);
    return { decisions, endsAt: now };
  }
  if (frozen !== null) {
    decide(`waits: frozen by "${frozen.name}"`);
    now = frozen.until;
  }
  decide(`released on ${toName}`);
  const target: TargetSeen = {
    ...to,
    known: true,
    artifact,
    newer: [],
    verifiedAt: new Date(now).toISOString(),
    // There is no revision yet: any unique name will do.
    servingRevisionId: `planned at ${now}`,
    activeRevisionId: `planned at ${now}`,
    deploymentId: to.deploymentId ?? 'planned',
    agentUrl: to.agentUrl ?? 'planned',
  };
  const released = { at: now, name: toName, target };
  if (request.bakeMs > 0) {
    now += request.bakeMs;
    decide(`has baked for ${formatDuration(request.bakeMs)}`);
  }
  return { decisions, endsAt: now, released };
}

const OVERLAPS: Readonly<Record<PromotionSchedule['overlap'], string>> = {
  skip: 'is left out: the promotion of an earlier time still runs',
  buffer_one: 'begins after the promotion of an earlier time, unless another one waits for that',
};

function judgeWords(onInconclusive: OnInconclusive, to: string): string {
  const otherwise = { wait: 'it is judged again later', ask: 'a person is asked', fail: 'it ends failed' };
  return `is judged against what serves on ${to}; if that is inconclusive, ${otherwise[onInconclusive]}`;
}
