import { dirname, resolve } from 'node:path';

import {
  type Alias,
  type Document,
  type ErrorCode,
  isMap,
  isScalar,
  LineCounter,
  parseDocument,
  type Range,
  visit,
} from 'yaml';

import { SlipwayError } from '../domain/errors.ts';
import { isRecord } from '../domain/scalars.ts';
import {
  type ConfigProblem,
  type ConfigSource,
  placeOfField,
  placeOfRange,
  problemAt,
  readableLines,
} from './configPlace.ts';
import type { Environment } from './environment.ts';
import { readConfigFile } from './findConfig.ts';
import { substituteVariables } from './variables.ts';

/** One file of a configuration, parsed, with its variables substituted. */
export interface ConfigPart extends ConfigSource {
  readonly file: string;
  /** The content; `{}` if the file is empty or not YAML. */
  readonly raw: unknown;
  /** Problems found before the schema runs: invalid YAML, variables without a value, unreadable files. */
  readonly problems: readonly ConfigProblem[];
}

export function configPart(file: string, text: string, environment: Environment): ConfigPart {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const source = { file, text, document, lines };
  const shown = readableLines(source, []);
  const problems: ConfigProblem[] = [];
  const report = (severity: ConfigProblem['severity'], start: number, end: number, message: string): void => {
    const place = placeOfRange(source, start, end);
    problems.push(problemAt(file, shown, place, { severity, path: '', message }));
  };
  for (const error of untilUnreadable(document.errors)) report('error', ...error.pos, messageOf(error, text));
  for (const warning of document.warnings) report('warning', ...warning.pos, messageOf(warning, text));
  if (document.errors.length > 0) return { ...source, raw: {}, problems };
  for (const { range, message } of substituteVariables(document, environment))
    report('error', ...range, message);
  for (const [start, end] of notInJson(document))
    report('error', start, end, 'is no number that JSON has: write one, or text');
  // The schema would leave such a field out, together with the target or the input that it is.
  for (const [start, end] of keysNamed(document, '__proto__'))
    report('error', start, end, 'nothing can be named "__proto__": rename it');
  const { alias, isCircle } = wrongAlias(document);
  if (alias !== undefined) {
    const [start, end] = alias.range ?? [0, 1];
    const message = isCircle ? 'is part of what it repeats' : 'no anchor has this name above';
    report('error', start, end, `${message}: &${alias.source}`);
    return { ...source, raw: {}, problems };
  }
  try {
    return { ...source, raw: document.toJS({ maxAliasCount: 100 }) ?? {}, problems };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    report('error', 0, 1, 'has too many aliases of aliases: write their values out');
    return { ...source, raw: {}, problems };
  }
}

/** The places of `.nan`, `.inf` and of numbers as large as `1e999`, which would become null. */
function notInJson(document: Document): readonly Range[] {
  const found: Range[] = [];
  visit(document, {
    Scalar(_, { value, range }) {
      if (typeof value === 'number' && !Number.isFinite(value) && range != null) found.push(range);
    },
  });
  return found;
}

function keysNamed(document: Document, name: string): readonly Range[] {
  const found: Range[] = [];
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && key.value === name && key.range != null) found.push(key.range);
    },
  });
  return found;
}

/** The first alias without a value, or with a value that contains it. */
function wrongAlias(document: Document): { readonly alias?: Alias; readonly isCircle?: boolean } {
  let wrong = {};
  visit(document, {
    Alias(_, alias, around) {
      const value = alias.resolve(document);
      if (value !== undefined && !around.includes(value)) return undefined;
      wrong = { alias, isCircle: value !== undefined };
      return visit.BREAK;
    },
  });
  return wrong;
}

/** The errors up to the first syntax error: those after it are its consequences. */
function untilUnreadable(errors: Document['errors']): Document['errors'] {
  const first = errors.findIndex(({ code }) => code !== 'DUPLICATE_KEY');
  return first === -1 ? errors : errors.slice(0, first + 1);
}

type OfYaml = Pick<Document['errors'][number], 'code' | 'pos' | 'message'>;

function messageOf({ code, pos: [start], message }: OfYaml, text: string): string {
  if (code === 'DUPLICATE_KEY') return definedTwice(text.slice(start));
  return OF_YAML[code] ?? `YAML: ${message}`;
}

/** Instead of the messages that describe the parser rather than the file. */
const OF_YAML: Readonly<Partial<Record<ErrorCode, string>>> = {
  MULTIPLE_DOCS: 'a second document begins here: slipway.yaml has one',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
};

/** @param text - begins with the key. */
function definedTwice(text: string): string {
  const [, key = ''] = /^["']?([^"':\n]*)/.exec(text) ?? [];
  return `"${key}" is defined twice here: rename or remove one`;
}

const PARTS_MAX = 20;

/** Reads the files that a file extends, recursively. Earlier ones take precedence; the file itself is the first. */
export async function extendedParts(
  part: ConfigPart,
  environment: Environment,
): Promise<readonly [ConfigPart, ...ConfigPart[]]> {
  const found: ConfigPart[] = [];
  await collect(part, [part.file], found, environment);
  const [first = part, ...more] = found;
  return [first, ...more];
}

/** @param way - the files that led here, this one last. */
async function collect(
  part: ConfigPart,
  way: readonly string[],
  found: ConfigPart[],
  environment: Environment,
): Promise<void> {
  const problems: ConfigProblem[] = [];
  const at = found.push(part) - 1;
  // Of several files under `extends`, the last one takes precedence.
  for (const { name, path } of extendsOf(part).reverse()) {
    const read = await readPart(name, way, found.length, environment);
    if (typeof read !== 'string') {
      await collect(read, [...way, read.file], found, environment);
      continue;
    }
    const place = placeOfField(part, path, false);
    const what = { severity: 'error', path: 'extends', message: read } as const;
    problems.push(problemAt(part.file, readableLines(part, []), place, what));
  }
  found[at] = { ...part, problems: [...part.problems, ...problems] };
}

/** @returns the part, or a sentence that says why there is none. */
async function readPart(
  name: unknown,
  way: readonly string[],
  count: number,
  environment: Environment,
): Promise<ConfigPart | string> {
  if (typeof name !== 'string') return 'expected the name of a file, or a list of them';
  const file = resolve(dirname(way.at(-1) ?? ''), name);
  if (way.includes(file)) return `extends itself: ${[...way.slice(way.indexOf(file)), file].join(' → ')}`;
  if (count >= PARTS_MAX) return `a configuration is made of ${PARTS_MAX} files at most`;
  try {
    const text = await readConfigFile(file);
    if (text === undefined) return `there is no file ${file}`;
    const part = configPart(file, text, environment);
    const { contents } = part.document;
    return isMap(contents) || contents === null ? part : `${file} holds no fields`;
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    return error.message;
  }
}

/** Values that are no names are included: merging removes the field, so the schema does not see it. */
function extendsOf({ raw }: ConfigPart): { name: unknown; path: PropertyKey[] }[] {
  const written = isRecord(raw) ? raw['extends'] : undefined;
  if (written === undefined || written === null) return [];
  if (!Array.isArray(written)) return [{ name: written, path: ['extends'] }];
  return written.map((name: unknown, index) => ({ name, path: ['extends', index] }));
}

/** Merges files; the first takes precedence. Maps are merged, others replaced, and `null` removes a value. */
export function mergeParts(raws: readonly unknown[]): unknown {
  const merged = raws.reduceRight((further, nearer) => mergeTwo(nearer, further));
  return isRecord(merged)
    ? Object.fromEntries(Object.entries(merged).filter(([name]) => name !== 'extends'))
    : merged;
}

/** The file that sets a field; if the field is missing, the file that sets the nearest part around it. */
export function partOfField(
  parts: readonly [ConfigPart, ...ConfigPart[]],
  path: readonly PropertyKey[],
): ConfigPart {
  let saying: readonly ConfigPart[] = parts;
  for (let length = 1; length <= path.length; length += 1) {
    const at = path.slice(0, length);
    const having = saying.filter(({ document }) => document.hasIn(at));
    if (having.length === 0) break;
    // A list or a value is not merged, so later files have no effect here.
    const whole = having.findIndex(({ document }) => !isMap(document.getIn(at, true)));
    saying = whole === -1 ? having : having.slice(0, Math.max(whole, 1));
  }
  return saying[0] ?? parts[0];
}

function mergeTwo(nearer: unknown, further: unknown): unknown {
  if (nearer === undefined) return further;
  if (!isRecord(nearer) || !isRecord(further)) return nearer;
  // Maps, because a target may be named "constructor", which every object inherits.
  const [near, far] = [new Map(Object.entries(nearer)), new Map(Object.entries(further))];
  const names = new Set([...far.keys(), ...near.keys()]);
  return Object.fromEntries(
    [...names]
      .filter((name) => !(near.get(name) === null && far.get(name) !== undefined))
      .map((name) => [name, mergeTwo(near.get(name), far.get(name))]),
  );
}
