import { isSame, type Known, originalOf, type Rollback, type TargetModel } from './targetModel.ts';

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
    /** What is put back only by name: what failed, and what a person has left. */
    readonly avoid: readonly number[];
  },
): PutBack {
  const { to, baseline, avoid } = wish;
  const before = known.find(({ revision }) => revision === baseline.revision);
  const good = known.filter(({ verified, shunned }) => verified && !shunned).map(({ revision }) => revision);
  const baselineFirst = baseline.verified && before?.shunned !== true ? [baseline.revision] : [];
  const order = [to ?? null, ...baselineFirst, ...good.toReversed(), baseline.revision];
  const candidates = [...new Set(order)].filter(
    (revision): revision is number => revision !== null && (revision === to || !avoid.includes(revision)),
  );
  const tried: number[] = [];
  const news: Known[] = [];
  for (const candidate of candidates) {
    tried.push(candidate);
    const what = model.revisions.get(candidate) ?? 'other';
    const revision = model.beginning.redeployMakesRevision ? model.make(what) : candidate;
    const word = known.find((one) => one.revision === candidate);
    const words = {
      ...(word?.artifact === undefined ? {} : { artifact: word.artifact }),
      ...(word?.release === undefined ? {} : { release: word.release }),
      ...(word?.copyOf === undefined ? {} : { copyOf: word.copyOf }),
      left: false,
    };
    const copied = revision === candidate ? words : { ...words, copyOf: originalOf(known, candidate) };
    const failedCopy = (): void => {
      if (revision !== candidate) news.push({ ...copied, revision, verified: false });
    };
    const fails = model.ruined.has(candidate) || what === 'breaks';
    if (fails) model.failed.add(revision);
    if (fails || what === 'hangs') {
      failedCopy();
      continue;
    }
    model.active = revision;
    const verified = word?.verified ?? (candidate === baseline.revision && baseline.verified);
    const judged = verified || candidate === to;
    if (judged && what === 'fails') {
      failedCopy();
      news.push({ ...words, revision: candidate, verified: false });
      continue;
    }
    news.push({ ...copied, revision, verified: judged });
    return { revision, tried, news };
  }
  return { revision: null, tried, news };
}

/** One rollback on an idle target. */
export function rollBack(model: TargetModel, rollback: Rollback): void {
  const id = model.number('rollback');
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
  const known = model.known.map((one) => ({ ...one, shunned: model.isShunned(one) }));
  const baseline = { revision: null, verified: false };
  const back = putBack(model, known, { to, baseline, avoid: copiesOf(known, active) });
  const { news, tried } = back;
  if (back.revision === null) {
    model.end({ ...common, outcome: 'rollback_failed', serving: model.active, news, tried });
    return;
  }
  const all = [...known, ...news];
  const left =
    active === null || isSame(all, active, back.revision)
      ? []
      : [
          {
            ...(all.find(({ revision }) => revision === active) ?? { revision: active, verified: false }),
            left: true,
          },
        ];
  model.end({ ...common, outcome: 'rolled_back', serving: back.revision, news: [...left, ...news], tried });
}

/** A revision with its copies and its original. */
export function copiesOf(known: readonly Known[], revision: number | null): readonly number[] {
  if (revision === null) return [];
  return [revision, ...known.map((one) => one.revision).filter((one) => isSame(known, one, revision))];
}
