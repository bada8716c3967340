import type { Check, Known, Rollback, TargetModel } from './targetModel.ts';

/** What came of putting a revision back. */
export interface PutBack {
  /** What serves again; `null`: nothing could be put back. */
  readonly revision: number | null;
  /** It serves, but what failed there says nothing of it, or a person asked for it: a person is needed. */
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
 * Puts the best of several revisions back that comes up, serves, and passes its own check. Each is tried twice. What
 * fails everywhere is not the revision: it stays, and no revision loses its verification.
 */
export function putBack(
  model: TargetModel,
  known: readonly (Known & { readonly shunned: boolean })[],
  wish: {
    readonly to: number | undefined;
    /** A person asked for it. */
    readonly manual: boolean;
    readonly baseline: { readonly revision: number | null; readonly verified: boolean };
    readonly failed: number | null;
    /** What was found before anything is put back. */
    readonly found: readonly Found[];
  },
): PutBack {
  const { to, manual, baseline, failed, found } = wish;
  const before = known.find(({ revision }) => revision === baseline.revision);
  const good = known.filter(({ verified, shunned }) => verified && !shunned).map(({ revision }) => revision);
  const baselineFirst = baseline.verified && before?.shunned !== true ? [baseline.revision] : [];
  const order = [to ?? null, ...baselineFirst, ...good.toReversed(), baseline.revision];
  const candidates = [...new Set(order)].filter(
    (revision): revision is number => revision !== null && (revision === to || revision !== failed),
  );
  const tried: number[] = [];
  const unverified: Known[] = [];
  for (const candidate of candidates.flatMap((revision) => [revision, revision])) {
    // Its second turn comes only after the first went wrong.
    const isLast = tried.includes(candidate);
    tried.push(candidate);
    const what = model.revisions.get(candidate) ?? 'other';
    const revision = model.beginning.redeployMakesRevision ? model.make(what) : candidate;
    const fails = model.ruined.has(candidate) || what === 'breaks';
    if (fails) model.failed.add(revision);
    if (fails || what === 'hangs') continue;
    model.active = revision;
    const { shunned: _, ...word } = known.findLast((one) => one.revision === candidate) ?? {
      ...{ revision, verified: false, left: false, shunned: false },
    };
    const isJudged = word.verified || candidate === to;
    const check = isJudged ? (word.passed ?? null) : null;
    if (check === null || model.passes(revision, check)) {
      const verified = isJudged && (word.verified || check !== null);
      return {
        ...{ revision, stays: false, tried },
        news: [...unverified, { ...word, revision, verified, left: false }],
      };
    }
    if (manual || unverified.length > 0 || found.some((one) => one.check === check)) {
      return { revision, stays: true, tried, news: [{ ...word, revision, left: false }] };
    }
    if (isLast) unverified.push({ ...word, revision: candidate, verified: false });
  }
  return { revision: null, stays: false, tried, news: unverified };
}

/** One rollback on an idle target. */
export function rollBack(model: TargetModel, { to: wanted }: Rollback): void {
  const id = model.number('rollback');
  const { active } = model;
  const known = model.known.map((one) => ({ ...one, shunned: model.isShunned(one) }));
  const position = known.findIndex(({ revision }) => revision === active);
  const earlier = position === -1 ? known : known.slice(0, position);
  const to = wanted ?? earlier.findLast(({ verified, shunned }) => verified && !shunned)?.revision;
  if (to === undefined || to === 'slip') {
    model.end({ id, kind: 'rollback', outcome: 'failed', serving: active, news: [], tried: [] });
    return;
  }
  const back = putBack(model, known, {
    ...{ to, manual: true, found: [] },
    ...{ baseline: { revision: null, verified: false }, failed: active },
  });
  if (back.revision === null) {
    const { news, tried } = back;
    model.end({ id, kind: 'rollback', outcome: 'rollback_failed', serving: model.active, news, tried });
    return;
  }
  const left = model.known
    .filter(({ revision }) => revision === active && active !== back.revision)
    .map((one) => ({ ...one, left: true }));
  model.end({
    id,
    kind: 'rollback',
    outcome: back.stays ? 'errored' : 'rolled_back',
    serving: back.revision,
    news: [...left, ...back.news],
    tried: back.tried,
  });
}
