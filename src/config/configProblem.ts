import { z } from 'zod';

import type { ErrorCode } from '../domain/errors.ts';
import { type ConfigProblem, isSecretName, placeOfField, problemAt, readableLines } from './configPlace.ts';
import { type ConfigPart, partOfField } from './configPart.ts';
import { nearestWord } from './nearestWord.ts';

export interface FieldProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Default: SLIPWAY_CONFIG_INVALID. */
  readonly code?: ErrorCode;
  /** The problem is the field's name, not its value. */
  readonly atKey?: boolean;
  /** The value may be a secret that was meant for another field. */
  readonly hidesValue?: boolean;
}

/** Adds places to problems. `parts`: the files of the configuration, highest precedence first. */
export function placeProblems(
  parts: readonly [ConfigPart, ...ConfigPart[]],
  errors: readonly FieldProblem[],
  warnings: readonly FieldProblem[],
): readonly ConfigProblem[] {
  const hidden = errors.filter(({ hidesValue }) => hidesValue === true).map(({ path }) => path);
  const lines = new Map(parts.map((part) => [part, readableLines(part, hidden)]));
  const placed = (severity: ConfigProblem['severity'], problems: readonly FieldProblem[]): ConfigProblem[] =>
    problems.map(({ path, message, code, atKey = false }) => {
      const part = partOfField(parts, path);
      const what = { severity, path: path.map(String).join('.'), code, message };
      return problemAt(part.file, lines.get(part) ?? [], placeOfField(part, path, atKey), what);
    });
  return [...placed('error', errors), ...placed('warning', warnings)];
}

export function inOrder(parts: readonly ConfigPart[]): (one: ConfigProblem, other: ConfigProblem) => number {
  const files = parts.map(({ file }) => file);
  return (one, other) =>
    files.indexOf(one.file) - files.indexOf(other.file) || one.line - other.line || one.column - other.column;
}

/**
 * How a value is parsed whose issues {@link schemaProblems} reads: with what is written there, and, as the message about
 * unknown fields, the valid ones.
 */
export const FOR_PROBLEMS: z.core.ParseContext<z.core.$ZodIssue> = {
  reportInput: true,
  error: ({ code, inst }) => (code === 'unrecognized_keys' ? validFields(inst).join(' ') : undefined),
};

function validFields(schema: unknown): readonly string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  const names = schema instanceof z.ZodRecord ? schema.keyType : undefined;
  return names instanceof z.ZodEnum ? names.options.map(String) : [];
}

/** Every problem that the schema found. Messages repeat no value of the file. @param issues - see {@link FOR_PROBLEMS}. */
export function schemaProblems(issues: readonly z.core.$ZodIssue[]): readonly FieldProblem[] {
  return issues.flatMap((issue): readonly FieldProblem[] => {
    const { code, path, message } = issue;
    if (code === 'unrecognized_keys')
      return issue.keys.map((key) => unknownField([...path, key], key, message.split(' ')));
    const meant = code === 'invalid_union' ? meantAlternative(issue) : undefined;
    if (meant !== undefined) return schemaProblems(meant);
    return [{ path, message: describe(issue), atKey: code === 'invalid_key' }];
  });
}

/** The issues of the only alternative that is of the written value's type; `undefined` if there is none, or several. */
function meantAlternative({
  path,
  errors,
}: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  const [meant, ...others] = errors.filter(
    (issues) => !issues.some((issue) => issue.code === 'invalid_type' && issue.path.length === 0),
  );
  if (meant === undefined || others.length > 0) return undefined;
  return meant.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

const NO_MERGE_KEY = 'YAML 1.2 has no merge key "<<": write the fields out';

function unknownField(path: readonly PropertyKey[], key: string, words: readonly string[]): FieldProblem {
  const near = nearestWord(key, words);
  return {
    path,
    message: key === '<<' ? NO_MERGE_KEY : `unknown field "${key}"${didYouMean(near)}`,
    atKey: true,
    hidesValue: near === undefined || isSecretName(near),
  };
}

function describe(issue: z.core.$ZodIssue): string {
  const { input: written } = issue;
  if (issue.code === 'invalid_value') {
    const words = issue.values.map((value) => JSON.stringify(value)).join(', ');
    const near = typeof written === 'string' ? nearestWord(written, issue.values.map(String)) : undefined;
    return `expected ${issue.values.length === 1 ? '' : 'one of '}${words}${didYouMean(near)}`;
  }
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  if (issue.code === 'invalid_type') {
    const wanted = issue.message.startsWith('Invalid input: ')
      ? `expected ${IN_YAML[issue.expected] ?? issue.expected}`
      : issue.message;
    if (written === undefined) return `is missing: ${wanted}`;
    return written === null ? `is empty: ${wanted}` : wanted;
  }
  if ((issue.code === 'too_small' || issue.code === 'too_big') && issue.message.startsWith('Too ')) {
    const [limit, bound] =
      issue.code === 'too_small' ? [issue.minimum, 'at least'] : [issue.maximum, 'at most'];
    const [one, many] = COUNTED[issue.origin] ?? ['', ''];
    return `expected ${bound} ${limit}${limit === 1 ? one : many}`;
  }
  return issue.message.replace(/^Invalid input: /, '');
}

/** What a limit counts, by the type that it limits. */
const COUNTED: Readonly<Partial<Record<string, readonly [one: string, many: string]>>> = {
  array: [' entry', ' entries'],
  record: [' entry', ' entries'],
  string: [' character', ' characters'],
};

function didYouMean(near: string | undefined): string {
  return near === undefined ? '' : `; did you mean "${near}"?`;
}

/** The schema's types in the words of YAML. */
const IN_YAML: Readonly<Partial<Record<string, string>>> = {
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  object: 'a mapping of fields',
  record: 'a mapping of names',
  string: 'text',
};
