import { isRecord } from './scalars.ts';

/**
 * Validates a value from outside, and returns the problem; `undefined` if there is none. The sentence names the field
 * by its path. It never quotes the value, which may be a secret. A rule never throws.
 */
export type Rule = (value: unknown, path: string) => string | undefined;

/** A rule for each field of `T`. The compiler reports a missing rule. Fields without a rule are ignored. */
export type Fields<T> = { readonly [Name in keyof T]-?: Rule };

/**
 * An object with these fields, and others.
 * @param fields - created for each check, so that no cached workflow keeps a copy.
 */
export function object<T extends object | undefined>(fields: () => Fields<NonNullable<T>>): Rule {
  return (value, path) => {
    if (!isRecord(value)) return `"${path}" is not an object`;
    return firstProblem(Object.entries<Rule>(fields()), ([name, rule]) =>
      rule(value[name], path === '' ? name : `${path}.${name}`),
    );
  };
}

/** An object whose `kind` determines its fields. */
export function variants<T extends { readonly kind: string }>(
  kinds: () => { readonly [Kind in T['kind']]: Fields<Omit<Extract<T, { readonly kind: Kind }>, 'kind'>> },
): Rule {
  return (value, path) => {
    if (!isRecord(value)) return `"${path}" is not an object`;
    const known = new Map(Object.entries<Fields<object>>(kinds()));
    const fields = known.get(value['kind'] as string);
    if (fields === undefined) return `"${path}.kind" is none of ${[...known.keys()].join(', ')}`;
    return object(() => fields)(value, path);
  };
}

export function list(rule: Rule, most: number): Rule {
  return (value, path) => {
    if (!Array.isArray(value)) return `"${path}" is not a list`;
    if (value.length > most) return `"${path}" has more than ${most} entries`;
    return firstProblem([...value.entries()], ([index, item]) => rule(item, `${path}.${index}`));
  };
}

export function optional(rule: Rule): Rule {
  return (value, path) => (value === undefined ? undefined : rule(value, path));
}

export function nullable(rule: Rule): Rule {
  return (value, path) => (value === null ? undefined : rule(value, path));
}

/** Both rules; the second one is checked only if the first one finds no problem. */
function both(first: Rule, second: Rule): Rule {
  return (value, path) => first(value, path) ?? second(value, path);
}

/** A rule, then a check of the whole valid value, which names the field with the problem. */
export function consistent(
  rule: Rule,
  problemOf: (value: never) => { readonly field: string; readonly message: string } | undefined,
): Rule {
  return both(rule, (value, path) => {
    const problem = problemOf(value as never);
    return problem === undefined ? undefined : `"${path}.${problem.field}": ${problem.message}`;
  });
}

/** One of these words: a key for each word of `T`. */
export function choice<T extends string | undefined>(words: Readonly<Record<NonNullable<T>, true>>): Rule {
  const isWord = (value: unknown): boolean => typeof value === 'string' && Object.hasOwn(words, value);
  return (value, path) =>
    isWord(value) ? undefined : `"${path}" is none of ${Object.keys(words).join(', ')}`;
}

/** One of the words of a list. */
export function oneOf(words: readonly string[]): Rule {
  return choice(Object.fromEntries(words.map((word) => [word, true as const])));
}

/** A text of any length, which may be empty. */
export const anyText: Rule = (value, path) =>
  typeof value === 'string' ? undefined : `"${path}" is not text`;

/** A non-empty text with a maximum number of characters. */
export function text(most: number): Rule {
  return (value, path) => {
    if (typeof value !== 'string' || value === '') return `"${path}" is not text`;
    return value.length > most ? `"${path}" is longer than ${most} characters` : undefined;
  };
}

/** A text in which `problemOf` finds no problem. The problem is printed after the field's name. */
export function textWhere(most: number, problemOf: (text: string) => string | undefined): Rule {
  return both(text(most), (value, path) => {
    const problem = problemOf(value as string);
    return problem === undefined ? undefined : `"${path}": ${problem}`;
  });
}

export function textLike(pattern: RegExp, what: string): Rule {
  return textWhere(1_000, (value) => (pattern.test(value) ? undefined : `expected ${what}`));
}

export function whole(from: number, to: number): Rule {
  return both(number(from, to), (value, path) =>
    Number.isInteger(value) ? undefined : `"${path}" is not a whole number`,
  );
}

export function number(from: number, to: number): Rule {
  return (value, path) =>
    typeof value === 'number' && value >= from && value <= to
      ? undefined
      : `"${path}" is not between ${from} and ${to}`;
}

export const flag: Rule = (value, path) =>
  typeof value === 'boolean' ? undefined : `"${path}" is neither true nor false`;

export const record: Rule = (value, path) => (isRecord(value) ? undefined : `"${path}" is not an object`);

/** Any value, or none. */
export const anything: Rule = () => undefined;

function firstProblem<T>(
  items: readonly T[],
  problemOf: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
