import { pick } from '@slipway/contract/pick';

import { matchesPattern } from '../config/answerSchema.ts';
import type { HookRule } from '../config/hookSchema.ts';
import { valueAt } from '../domain/check/answer.ts';
import { TOO_SLOW } from '../domain/check/expectation.ts';
import type { HookDelivery, HookEvent, HookGuards, HookMatch, HookOrder } from '../domain/hooks/hookEvent.ts';
import type { RecordedTarget } from '../domain/target/targetSpec.ts';
import type { PromotionRequest } from '../domain/promotion/promotion.ts';
import type { ReleaseRequest } from '../domain/release/release.ts';
import type { ListeningHook } from '../temporal/client/hooks/hookClient.ts';
import type { ReadEvent } from './form.ts';

/** Reads what only the folder of `slipway.yaml` has: settings, the source, and the files of judges. */
export interface RequestSource {
  kept(target: string): Promise<RecordedTarget>;
  /** @throws SlipwayError SLIPWAY_ARTIFACT_…. */
  release(target: string): Promise<ReleaseRequest>;
  promotion(name: string): Promise<PromotionRequest>;
}

export interface RuleMatch {
  readonly rule: HookRule;
  readonly targets: readonly string[];
  /** Why the rule acts on no target; `undefined`: it acts on one. */
  readonly problem: string | undefined;
}

export function matchRules({ config, promotions }: ListeningHook, event: ReadEvent): readonly RuleMatch[] {
  return config.on.map((rule) => {
    const problem = mismatch(rule, event, event.fields);
    if (problem !== undefined) return { rule, targets: [], problem };
    const { targets = [], targetFrom, promotion } = rule;
    if (promotion !== undefined)
      return { rule, targets: [promotions.get(promotion) ?? ''], problem: undefined };
    if (targetFrom === undefined) return { rule, targets, problem: undefined };
    const named = fieldText(event.fields, targetFrom);
    const isListed = named !== undefined && targets.includes(named);
    return isListed
      ? { rule, targets: [named], problem: undefined }
      : { rule, targets: [], problem: `"${targetFrom}" names none of ${targets.join(', ')}` };
  });
}

/** The required value of a field: this text, number or boolean, or text that matches a regular expression. */
type FieldPattern = string | number | boolean | { readonly matches: string };

export interface HookPattern {
  readonly status: HookEvent['status'] | 'any';
  /** By dot path into the event's fields. */
  readonly match: Readonly<Record<string, FieldPattern>>;
}

/** Bounds the value that a regular expression is matched against, because outsiders write it. */
const MATCHED_MAX_CHARACTERS = 1_000;

/** Why a rule does not match an event; `undefined`: it matches. */
export function mismatch(
  { status, match }: HookPattern,
  event: Pick<HookEvent, 'status'>,
  fields: unknown,
): string | undefined {
  if (status !== 'any' && status !== event.status) return `it is ${event.status}, not ${status}`;
  for (const [path, pattern] of Object.entries(match)) {
    const text = fieldText(fields, path);
    if (text === undefined) return `it has no "${path}"`;
    if (typeof pattern !== 'object') {
      if (text !== String(pattern)) return `"${path}" is not "${String(pattern)}"`;
      continue;
    }
    const isMatch = matchesPattern(pattern.matches, text.slice(0, MATCHED_MAX_CHARACTERS));
    if (isMatch === null) return `on "${path}", /${pattern.matches}/ ${TOO_SLOW}`;
    if (!isMatch) return `"${path}" does not match /${pattern.matches}/`;
  }
  return undefined;
}

/** The text, number or boolean at a dot path, as text; `undefined`: none. */
export function fieldText(fields: unknown, path: string): string | undefined {
  const value = valueAt(fields, path);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

const REVISION_MAX_CHARACTERS = 200;

/** The guards of a rule, with the values that the event gives. */
export function guardsOf(rule: HookRule, { fields }: Pick<ReadEvent, 'fields'>): HookGuards {
  const { ifYoungerThan, ifRevision, atLeast, atMostOnePer, approvalBetween } = rule;
  return {
    youngerThanMs: ifYoungerThan,
    revision: ifRevision && (fieldText(fields, ifRevision)?.slice(0, REVISION_MAX_CHARACTERS) ?? null),
    atLeast: atLeast && { count: atLeast.count, withinMs: atLeast.within },
    atMostOncePerMs: atMostOnePer,
    approval: approvalBetween && {
      ...pick(approvalBetween, 'from', 'until', 'timeZone'),
      withinMs: approvalBetween.within,
    },
  };
}

/**
 * Builds the message with events for a hook's workflow. All events share one order for each rule and target.
 * @throws the errors of the source.
 */
export async function deliveryOf(
  hook: ListeningHook,
  events: readonly ReadEvent[],
  source: RequestSource,
): Promise<HookDelivery> {
  const orders: Promise<HookOrder>[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (rule: HookRule, target: string): number => {
    const key = `${rule.name} ${target}`;
    const known = indexes.get(key);
    if (known !== undefined) return known;
    indexes.set(key, orders.length);
    return orders.push(orderOf(hook, rule, target, source)) - 1;
  };
  const matched = events.map(({ fields, ...event }) => {
    const matches = matchRules(hook, { ...event, fields }).flatMap(({ rule, targets }): HookMatch[] =>
      [...new Set(targets)].map((target) => ({
        rule: rule.name,
        guards: guardsOf(rule, { fields }),
        order: indexOf(rule, target),
      })),
    );
    return { ...event, matches };
  });
  return { events: matched, orders: await Promise.all(orders) };
}

async function orderOf(
  { targets }: ListeningHook,
  rule: HookRule,
  target: string,
  source: RequestSource,
): Promise<HookOrder> {
  const at = { target, workflowId: targets.get(target) ?? '' };
  switch (rule.do) {
    case 'abort':
      return { ...at, do: 'abort' };
    case 'hold':
      return { ...at, do: 'hold', kept: await source.kept(target) };
    case 'rollback':
      return {
        ...at,
        do: 'rollback',
        hold: rule.hold === false ? false : undefined,
        kept: await source.kept(target),
      };
    case 'release':
      return { ...at, do: 'release', request: await source.release(target) };
    case 'promotion':
      return { ...at, do: 'promotion', request: await source.promotion(rule.promotion ?? '') };
  }
}
