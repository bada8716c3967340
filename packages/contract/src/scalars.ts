import { z } from 'zod';

import { FIELD_REQUIRED, ISSUES_MAX } from './httpErrors.ts';
import { parsedJson } from './json.ts';
import { withOffset } from './moment.ts';
import { DNS_LABEL_MAX, INTEGER_MAX, LIST_MAX, NAME_MAX, PAGE_LIMIT, TEXT_MAX } from './limits.ts';

const STORABLE = /^[^\0\p{Surrogate}]*$/u;
const PRINTED_LINE = /^(?!\s)[^\p{Cc}\u2028\u2029]*(?<!\s)$/u;

/** A uuid in any version (both contracts: "string, uuid"). Upper case is accepted and converted to lower case. */
export const Uuid = z.guid().toLowerCase();

/** A moment, ISO 8601 (both contracts: "date-time", "timestamp"). Kept as sent; without an offset it is UTC. */
export const Timestamp = z
  .string()
  .refine(isMoment, { error: 'Input should be a valid datetime' })
  .overwrite(withOffset);

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?$/iu;

/** `Date.parse` alone also reads `01/02/2027`, as the second of January, and takes 30 February for 2 March. */
function isMoment(value: string): boolean {
  const day = MOMENT.exec(value)?.[1];
  if (day === undefined || Number.isNaN(Date.parse(value))) return false;
  return new Date(day).toISOString().startsWith(day);
}

/** A free-form JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/** A JSON object that a database can store. Decision: at most 100 levels, so that code that walks it terminates. */
export const StorableObject = storable(JsonObject);

/** A schema of objects that a database can store, as {@link StorableObject}. */
export function storable<Schema extends z.ZodType<object>>(schema: Schema): Schema {
  return schema.refine(isStorable, {
    error: 'Input should have at most 100 levels and valid Unicode without U+0000',
  });
}

/** Without recursion, because a request may be nested deeper than the stack. */
function isStorable(root: object): boolean {
  const open: { value: object; depth: number }[] = [{ value: root, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > 100) return false;
    if (!Array.isArray(next.value) && !Object.keys(next.value).every((name) => STORABLE.test(name)))
      return false;
    for (const value of Object.values(next.value) as unknown[]) {
      if (typeof value === 'string' && !STORABLE.test(value)) return false;
      if (typeof value === 'object' && value !== null) open.push({ value, depth: next.depth + 1 });
    }
  }
  return true;
}

/** An http or https URL. */
export const HttpUrl = z
  .url({ protocol: /^https?$/u, error: 'Input should be an http or https URL' })
  .max(TEXT_MAX)
  .regex(STORABLE, { error: 'Input should be an http or https URL' });

/** Text of at most `max` characters that a database can store: without U+0000 and lone surrogates. */
export function text(max: number = TEXT_MAX): z.ZodString {
  return z
    .string()
    .max(max)
    .regex(STORABLE, { error: 'Input should be valid Unicode without U+0000', abort: true });
}

/** {@link text} that is not empty. */
export function nonEmptyText(max: number = TEXT_MAX): z.ZodString {
  return text(max).min(1, { abort: true });
}

/** One printed line: not empty, no control characters, no white space at either end. */
export function singleLineText(max: number): z.ZodString {
  return nonEmptyText(max).regex(PRINTED_LINE, {
    error: 'Input should be one line without control characters or white space at its ends',
  });
}

/** A checkpoint's id: a uuid, in upper case too, like {@link Uuid} (contract 001, "Thread state": only "string"). */
export const CheckpointId = nonEmptyText().toLowerCase();

/** An assistant in a request: a graph's name or an assistant's id (contract 001, "What the service does"). */
export const AssistantId = singleLineText(NAME_MAX);

/** A path inside a source tree: relative, with forward slashes, without `..` segments. */
export const RelativePath = nonEmptyText().regex(
  /^(?![/\\])(?![A-Za-z]:)(?!(?:.*\/)?\.\.(?:\/|$))[^\\]+$/su,
  { error: 'Input should be a relative path without ".." segments' },
);

/** A DNS label (RFC 1123): contract 000, "Nested types": Volume and Container names. */
export const DnsLabel = z
  .string()
  .max(DNS_LABEL_MAX)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/u, {
    error:
      'Input should be a DNS label: lower-case letters, digits and hyphens, not starting or ending with a hyphen',
  });

/** The identifier form of a name: contract 000, "Nested types": EnvVar names. */
export const Identifier = z
  .string()
  .max(NAME_MAX)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, {
    error: 'Input should be an identifier: letters, digits and underscores, not starting with a digit',
  });

/**
 * The name of an environment variable for a secret (contract 000, Secret, SecretReference). The contract gives no
 * form. Decision: printable ASCII without blanks and `=`, which every environment can hold.
 */
export const EnvironmentName = z
  .string()
  .min(1, { abort: true })
  .max(NAME_MAX)
  .regex(/^[!-<>-~]+$/u, {
    error: 'Input should be the name of an environment variable: printable ASCII without blanks and "="',
  });

/** A count or size: an integer from `min` (0) that fits in 32 bits. The contract has no bounds: decision. */
export function integer(min = 0, max: number = INTEGER_MAX): z.ZodInt {
  return z.int().min(min).max(max);
}

/** One of the given words. An absent field is reported as `missing`, without the list of words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(
  words: Words,
): z.ZodEnum<{ [Word in Words[number]]: Word }> {
  return z.enum(words, { error: (issue) => (issue.input === undefined ? FIELD_REQUIRED : undefined) });
}

/** A word of this contract or any other: answers may have words that requests may not. */
export function openEnum<Known extends string>(
  known: z.ZodEnum<Readonly<Record<Known, Known>>>,
): z.ZodType<Known | (string & {})> {
  return z.string().describe(`One of ${known.options.join(', ')}; others may come`);
}

/**
 * A list whose entries have lists: it is checked entry by entry, until there are as many mistakes as an answer shows. All
 * of a million would take a minute.
 */
export function entryByEntry<Entry extends z.ZodType>(list: z.ZodArray<Entry>) {
  return z.preprocess((value: unknown, context): unknown => {
    if (!Array.isArray(value) || value.length > LIST_MAX) return value;
    let mistakes = 0;
    for (const [index, entry] of (value as unknown[]).entries()) {
      for (const issue of list.element.safeParse(entry).error?.issues ?? []) {
        context.addIssue({ ...issue, path: [index, ...issue.path] });
        mistakes += 1;
      }
      if (mistakes >= ISSUES_MAX) break;
    }
    return value as unknown[];
  }, list);
}

/** An integer in a query, where everything is text. */
export function queryInteger(min: number, max: number) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^[+-]?\d{1,15}$/u.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );
}

/**
 * A list in a query: one value or several. The public JavaScript client before 1.12 sends a list as JSON in one value.
 */
export function queryList<List extends z.ZodType>(list: List) {
  return z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    const parsed = value.startsWith('[') ? parsedJson(value) : undefined;
    return Array.isArray(parsed) ? (parsed as unknown[]) : [value];
  }, list);
}

/** A filter in a query: an empty one counts as absent. */
export function queryFilter<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

const TRUE = new Set(['1', 'true', 't', 'yes', 'y', 'on']);
const FALSE = new Set(['0', 'false', 'f', 'no', 'n', 'off', '']);

/** A boolean in a query, in every spelling that clients use: `1`/`0`, `true`/`false`, `yes`/`no`, `on`/`off`. */
export const QueryBoolean = z.preprocess((value) => {
  if (typeof value !== 'string') return value;
  const word = value.toLowerCase();
  if (TRUE.has(word)) return true;
  return FALSE.has(word) ? false : value;
}, z.boolean());

/** The answer of the public client's counts: a plain number. */
export const Count = z.int().min(0);

/** The query of a paged list (public API): `limit` 1–100, 20 by default, and `offset` from 0. */
export const PageQuery = z.object({
  limit: queryInteger(PAGE_LIMIT.min, PAGE_LIMIT.max).default(PAGE_LIMIT.default),
  offset: queryInteger(0, INTEGER_MAX).default(0),
});
export type PageQuery = z.infer<typeof PageQuery>;
