import { createRequire } from 'node:module';
import { createContext, Script } from 'node:vm';

import type { Ajv, Ajv as AjvClass, ErrorObject, ValidateFunction } from 'ajv';

import { MATCH_MAX_MS, type PatternCheck, TOO_SLOW } from '../domain/check/expectation.ts';
import type { AnswerChecks } from '../domain/check/judge.ts';

/** Matches texts with regular expressions in Unicode mode. */
export const matchesPattern: PatternCheck = (pattern, text) => {
  const expression = new RegExp(pattern, 'u');
  return withinLimit(() => expression.test(text)) ?? null;
};

/**
 * Interrupts work that takes longer than {@link MATCH_MAX_MS}: a regular expression may backtrack for years, and nothing
 * else in the process would happen meanwhile. V8 interrupts it only below code that `node:vm` runs with a timeout.
 * @returns `undefined` if it was interrupted.
 */
function withinLimit<T>(work: () => T): T | undefined {
  place ??= createContext({}) as { work?: unknown };
  place.work = work;
  try {
    return SCRIPT.runInContext(place, { timeout: MATCH_MAX_MS }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    delete place.work;
  }
}

const SCRIPT = new Script('work()');
/** Making one takes milliseconds, so all share it, and commands that match nothing do without. */
let place: { work?: unknown } | undefined;

type Schema = Readonly<Record<string, unknown>>;

/** Ajv is loaded when a schema is used: most commands and checks need none. */
const load = createRequire(import.meta.url);

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\//u;

const PROBLEMS_MAX = 3;

/** JSON Schemas are checked strictly: draft 2020-12, or 7 by `$schema`. Nothing is fetched. */
export const ANSWER_CHECKS: AnswerChecks = { schema: checkSchema, pattern: matchesPattern };

function checkSchema(schema: Schema, value: unknown): ReturnType<AnswerChecks['schema']> {
  const validate = compiled(schema);
  if (typeof validate === 'string') return { problem: `is no JSON Schema: ${validate}`, isUnknown: true };
  const isValid = withinLimit(() => validate(value));
  if (isValid === undefined) return { problem: TOO_SLOW, isUnknown: true };
  if (isValid) return null;
  const told = (validate.errors ?? []).slice(0, PROBLEMS_MAX).map(problemText);
  return { problem: told.join('; '), isUnknown: false };
}

/** What is wrong with a JSON Schema; `undefined` if nothing is. */
export function schemaProblem(schema: Schema): string | undefined {
  const validate = compiled(schema);
  return typeof validate === 'string' ? validate : undefined;
}

/** Of schemas that are asked again and again: a check's, of each row of its dataset. */
const COMPILED = new WeakMap<Schema, ValidateFunction | string>();

function compiled(schema: Schema): ValidateFunction | string {
  const known = COMPILED.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  COMPILED.set(schema, made);
  return made;
}

function compile(schema: Schema): ValidateFunction | string {
  if ('$async' in schema) return '$async is not supported: remove it';
  try {
    return ajvFor(schema).compile(schema);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error.message;
  }
}

function problemText({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as Readonly<Record<string, unknown>>;
  const what =
    additionalProperty ?? (allowedValues === undefined ? undefined : JSON.stringify(allowedValues));
  const where = instancePath === '' ? 'it' : instancePath;
  return `${where} ${message}${typeof what === 'string' ? ` (${what})` : ''}`;
}

/** A new one for each schema: it keeps what it compiled, by the schema's `$id`. */
function ajvFor({ $schema }: Schema): Ajv {
  const isDraft7 = typeof $schema === 'string' && DRAFT_7.test($schema);
  const { default: Ajv } = load(isDraft7 ? 'ajv' : 'ajv/dist/2020.js') as {
    readonly default: typeof AjvClass;
  };
  const { default: addFormats } = load('ajv-formats') as { readonly default: (ajv: Ajv) => void };
  const ajv = new Ajv({
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    allErrors: true,
    logger: false,
  });
  addFormats(ajv);
  return ajv;
}
