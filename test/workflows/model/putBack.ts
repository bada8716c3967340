import {
  type Check,
  COUNTER,
  isSame,
  type Known,
  type Late,
  originalOf,
  type Rollback,
  type TargetModel,
} from './targetModel.ts';

export interface Restored {
  /** The restored revision; `null`: none could be restored. */
  readonly revision: number | null;
  /** It serves, but its failed check says nothing about it, or a person requested it: a person is needed. */
  readonly stays: boolean;
  readonly tried: readonly number[];
  readonly news: readonly Known[];
}

/** The check that failed on a revision, or could not be carried out (`silent`). */
export interface Found {
  readonly check: Check;
  readonly silent: boolean;
}

/**
 * Restores the best revision that deploys, serves, and passes its own check. Each is tried twice. A check that fails
 * on all revisions does not count against one: the revision stays, and no revision loses its verification.
 */
export function restore(
  model: TargetModel,
  known: readonly (Known & { readonly shunned: boolean })[],
  wish: {
    readonly to: number | undefined;
    readonly manual: boolean;
    readonly baseline: { readonly revision: number | null; readonly verified: boolean };
    /** Revisions that are restored only by name: those that failed, and those that a person has left. */
    readonly avoid: readonly number[];
    readonly found: readonly Found[];
    readonly asks?: Check;
  },
): Restored {
  const { to, manual, baseline, avoid, found, asks } = wish;
  const before = known.find(({ revision }) => revision === baseline.revision);
  const good = known.filter(({ verified, shunned }) => verified && !shunned).map(({ revision }) => revision);
  const itself = before?.shunned === true ? [] : [baseline.revision];
  const order = [to ?? null, ...(baseline.verified ? itself : []), ...good.toReversed(), ...itself];
  const candidates = [...new Set(order)].filter(
    (revision): revision is number => revision !== null && (revision === to || !avoid.includes(revision)),
  );
  const tried: number[] = [];
  const unverified: Known[] = [];
  const failedOn: Check[] = [];
  const copies: Known[] = [];
  for (const candidate of candidates.slice(0, 5).flatMap((revision) => [revision, revision])) {
    // A copy counts as its original.
    if (unverified.some((one) => isSame(known, one.revision, candidate))) continue;
    // The second attempt follows only if the first failed.
    const isLast = tried.includes(candidate);
    tried.push(candidate);
    const what = model.revisions.get(candidate) ?? 'other';
    const revision = model.beginning.redeployMakesRevision ? model.make(what) : candidate;
    const { shunned: _, ...words }: Known & { readonly shunned: boolean } = {
      ...(known.findLast((one) => one.revision === candidate) ?? {
        revision: candidate,
        verified: false,
        shunned: false,
      }),
      left: false,
    };
    const copied = revision === candidate ? words : { ...words, copyOf: originalOf(known, candidate) };
    const failedCopy = (): void => {
      if (revision !== candidate) copies.push({ ...copied, revision, verified: false });
    };
    const fails = model.ruined.has(candidate) || what === 'breaks';
    if (fails) model.failed.add(revision);
    if (fails || what === 'hangs') {
      failedCopy();
      continue;
    }
    model.active = revision;
    const isJudged = words.verified || candidate === to;
    const check = isJudged ? (words.passed ?? null) : null;
    if (check !== null && asks !== undefined && check !== asks)
      model.met.add('a restore asks another check than the release did');
    if (check === null || model.passes(revision, check)) {
      const verified = isJudged && (words.verified || check !== null);
      const news = [...copies, ...unverified, { ...copied, revision, verified }];
      return { revision, stays: false, tried, news };
    }
    failedCopy();
    const elsewhere = [...found.map((one) => one.check), ...failedOn];
    if (manual || failedOn.length === 2 || elsewhere.includes(check)) {
      model.met.add('a restored revision stays although its check fails');
      return { revision, stays: true, tried, news: [...copies, { ...copied, revision }] };
    }
    if (!isLast) continue;
    failedOn.push(check);
    for (const one of copiesOf(known, candidate))
      unverified.push({
        ...(known.findLast(({ revision: other }) => other === one) ?? words),
        revision: one,
        verified: false,
        left: false,
      });
  }
  return { revision: null, stays: false, tried, news: [...copies, ...unverified] };
}

export function rollBack(model: TargetModel, rollback: Rollback): void {
  const id = model.number('rollback');
  model.preemptGuard('a guard makes way for a rollback');
  const { active } = model;
  const common = { id, kind: 'rollback' as const, rollback };
  const nothing = { ...common, serving: active, news: [], tried: [] };
  if (rollback.from !== undefined && active !== null && !isSame(model.known, active, rollback.from)) {
    model.end({ ...nothing, outcome: 'rolled_back' });
    return;
  }
  const to = rollback.to ?? model.before(active);
  if (to === undefined) {
    model.end({ ...nothing, outcome: 'failed' });
    return;
  }
  if (model.isSlow) model.met.add('answers are slow during a rollback');
  const known = model.known.map((one) => ({ ...one, shunned: model.isShunned(one) }));
  const baseline = { revision: null, verified: false };
  const avoid = copiesOf(known, active);
  const back = restore(model, known, { to, manual: true, found: [], baseline, avoid });
  const { news, tried } = back;
  if (back.revision === null) {
    model.end({ ...common, outcome: 'rollback_failed', serving: model.active, news, tried });
    return;
  }
  const all = [...known, ...news];
  // No person left what the target counters.
  const left =
    active === null || rollback.id === COUNTER || isSame(all, active, back.revision)
      ? []
      : [
          {
            ...(all.find(({ revision }) => revision === active) ?? { revision: active, verified: false }),
            left: true,
          },
        ];
  const outcome = back.stays ? 'errored' : 'rolled_back';
  model.end({ ...common, outcome, serving: back.revision, news: [...left, ...news], tried });
}

/** A revision with its copies and its original. */
export function copiesOf(known: readonly Known[], revision: number | null): readonly number[] {
  if (revision === null) return [];
  return [revision, ...known.map((one) => one.revision).filter((one) => isSame(known, one, revision))];
}

/** The rollback from a late revision to what is to serve instead, unless a person must name that one. */
export function counterOf(model: TargetModel, { revision, restoreTo }: Late): Rollback {
  const before = model.believed ?? restoreTo;
  const isShunned = model.known.some((one) => one.revision === before && model.isShunned(one));
  return { id: COUNTER, to: isShunned ? undefined : before, from: revision };
}

/** Queues the rollback from the late revision that serves, once nothing runs. */
export function counter(model: TargetModel): void {
  const { overtaker } = model;
  model.overtaker = null;
  if (overtaker === null || overtaker.revision !== model.active) return;
  model.met.add('a late revision is countered');
  model.late = model.late.filter(({ revision }) => revision !== overtaker.revision);
  model.rollbacks = [...model.rollbacks, counterOf(model, overtaker)];
}
