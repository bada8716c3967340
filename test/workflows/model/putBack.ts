import type { Known, Rollback, TargetModel } from './targetModel.ts';

/** What came of putting a revision back. */
export interface PutBack {
  /** What serves again; `null`: nothing could be put back. */
  readonly revision: number | null;
  readonly tried: readonly number[];
  readonly news: readonly Known[];
}

/** Puts the best of several revisions back that comes up, serves, and passes the checks that it passed before. */
export function putBack(
  model: TargetModel,
  known: readonly (Known & { readonly shunned: boolean })[],
  wish: {
    readonly to: number | undefined;
    readonly baseline: { readonly revision: number | null; readonly verified: boolean };
    readonly failed: number | null;
  },
): PutBack {
  const { to, baseline, failed } = wish;
  const before = known.find(({ revision }) => revision === baseline.revision);
  const good = known.filter(({ verified, shunned }) => verified && !shunned).map(({ revision }) => revision);
  const baselineFirst = baseline.verified && before?.shunned !== true ? [baseline.revision] : [];
  const order = [to ?? null, ...baselineFirst, ...good.toReversed(), baseline.revision];
  const candidates = [...new Set(order)].filter(
    (revision): revision is number => revision !== null && (revision === to || revision !== failed),
  );
  const tried: number[] = [];
  const news: Known[] = [];
  for (const candidate of candidates) {
    tried.push(candidate);
    const what = model.revisions.get(candidate) ?? 'other';
    const revision = model.beginning.redeployMakesRevision ? model.make(what) : candidate;
    const fails = model.ruined.has(candidate) || what === 'breaks';
    if (fails) model.failed.add(revision);
    if (fails || what === 'hangs') continue;
    model.active = revision;
    const word = known.find((one) => one.revision === candidate);
    const verified = word?.verified ?? (candidate === baseline.revision && baseline.verified);
    const judged = verified || candidate === to;
    const artifact = word?.artifact === undefined ? {} : { artifact: word.artifact };
    if (judged && what === 'fails') {
      news.push({ revision: candidate, verified: false, left: false, ...artifact });
      continue;
    }
    news.push({ revision, verified: judged, left: false, ...artifact });
    return { revision, tried, news };
  }
  return { revision: null, tried, news };
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
  const back = putBack(model, known, { to, baseline: { revision: null, verified: false }, failed: active });
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
    outcome: 'rolled_back',
    serving: back.revision,
    news: [...left, ...back.news],
    tried: back.tried,
  });
}
