import { type RawBuilder, sql } from 'kysely';

import { FILTER_OPERATORS, type FilterOperator } from '@slipway/contract/runApi/store';

/** The condition that the fields of `value` are as a filter wants them (contract: `ItemFilter`). */
export function matching(filter: Record<string, unknown>): RawBuilder<boolean> {
  const conditions = Object.entries(filter).flatMap(([field, wanted]) =>
    isOperators(wanted)
      ? Object.entries(wanted).map(([operator, operand]) =>
          CONDITIONS[operator as FilterOperator](sql`value -> ${field}::text`, operand),
        )
      : [CONDITIONS.$eq(sql`value -> ${field}::text`, wanted)],
  );
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` AND `)})`;
}

type Condition = (field: RawBuilder<unknown>, operand: unknown) => RawBuilder<boolean>;

const CONDITIONS: Record<FilterOperator, Condition> = {
  $eq: (field, operand) => sql<boolean>`${field} = ${json(operand)}`,
  $ne: (field, operand) => sql<boolean>`${field} IS DISTINCT FROM ${json(operand)}`,
  $gt: ordered('>'),
  $gte: ordered('>='),
  $lt: ordered('<'),
  $lte: ordered('<='),
  $in: (field, operand) => sql<boolean>`${field} IN (SELECT jsonb_array_elements(${json(operand)}))`,
  $nin: (field, operand) =>
    sql<boolean>`(${field} IN (SELECT jsonb_array_elements(${json(operand)}))) IS NOT TRUE`,
};

/** Numbers have an order among themselves, and so have texts; one of another kind is neither before nor behind. */
function ordered(operator: string): Condition {
  const compare = sql.raw(operator);
  return (field, operand) =>
    sql<boolean>`(jsonb_typeof(${field}) = jsonb_typeof(${json(operand)}) AND ${field} ${compare} ${json(operand)})`;
}

function json(operand: unknown): RawBuilder<unknown> {
  return sql`${JSON.stringify(operand ?? null)}::jsonb`;
}

/** As LangGraph's own stores tell them apart; an empty object asks for nothing. */
function isOperators(wanted: unknown): wanted is Record<string, unknown> {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return false;
  return Object.keys(wanted).every((name) => (FILTER_OPERATORS as readonly string[]).includes(name));
}
