import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  type LineCounter,
  type Node,
  type Pair,
  visit,
} from 'yaml';

import { SECRET_REFERENCE } from '@slipway/contract/secretReference';
import type { ErrorCode } from '../domain/errors.ts';
import type { WholeNumber } from '../domain/scalars.ts';

export interface ConfigSource {
  readonly text: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

interface ConfigPlace {
  /** From 1. */
  readonly line: WholeNumber;
  /** From 1. */
  readonly column: WholeNumber;
  /** In characters, at least 1. */
  readonly length: WholeNumber;
}

/** A value in `slipway.yaml` that is invalid or has no effect, with its place. */
export interface ConfigProblem extends ConfigPlace {
  /** `slipway.yaml`, a file that it extends, or a dataset. */
  readonly file: string;
  /** Absent: SLIPWAY_CONFIG_INVALID. */
  readonly code?: ErrorCode;
  /** `warning`: it is valid, but has no effect. */
  readonly severity: 'error' | 'warning';
  /** The field's path: `targets.staging.apiKey`. Empty if the file is not YAML. */
  readonly path: string;
  readonly message: string;
  /** The line, with possible secrets masked by `*`. */
  readonly excerpt: string;
}

/** A problem at a place. @param lines - the {@link readableLines} of its file. */
export function problemAt(
  file: string,
  lines: readonly string[],
  place: ConfigPlace,
  { severity, ...what }: Pick<ConfigProblem, 'severity' | 'path' | 'code' | 'message'>,
): ConfigProblem {
  return { file, severity, ...place, ...what, excerpt: lines[place.line - 1] ?? '' };
}

/** The place of a field's value (`atKey`: of its name). If the field is missing, that of the nearest part around it. */
export function placeOfField(
  source: ConfigSource,
  path: readonly PropertyKey[],
  atKey: boolean,
): ConfigPlace {
  const { document } = source;
  const key = atKey ? keyNode(document, path) : undefined;
  if (key !== undefined) return placeOfNode(source, key);
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (!isNode(node)) continue;
    // Shows the name that the field is missing below, rather than the first field below that name.
    const name = length < path.length ? keyNode(document, path.slice(0, length)) : undefined;
    return placeOfNode(source, isMap(node) && name !== undefined ? name : node);
  }
  return isNode(document.contents)
    ? placeOfNode(source, document.contents)
    : { line: 1, column: 1, length: 1 };
}

/** The place of a range of the text, cut at the end of its first line. Offsets start at 0; `end` is exclusive. */
export function placeOfRange({ text, lines }: ConfigSource, start: number, end: number): ConfigPlace {
  const { line, col } = lines.linePos(start);
  const lineEnd = text.indexOf('\n', start);
  const last = Math.min(end, lineEnd === -1 ? text.length : lineEnd);
  return { line, column: col, length: Math.max(text.slice(start, last).trimEnd().length, 1) };
}

function placeOfNode(source: ConfigSource, { range }: Node): ConfigPlace {
  return placeOfRange(source, range?.[0] ?? 0, range?.[1] ?? 0);
}

function keyNode(document: Document, path: readonly PropertyKey[]): Node | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const key = isMap(parent)
    ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key
    : undefined;
  return isNode(key) ? key : undefined;
}

/** Names of fields whose values may be secrets. */
const SECRET_NAME = /key|secret|token|passw|credential|auth/i;
/** Fields that match {@link SECRET_NAME}, or are below one that does, but hold no secret. */
const HARMLESS_NAMES: readonly string[] = ['feedbackKey', 'name', 'tokens', 'maxTokens'];
const URL_CREDENTIALS = /:\/\/[^/\s]*@/;

/** The lines of the file, in which possible secrets, also in `unknown` fields, are masked with their length. */
export function readableLines(
  { text, document }: Pick<ConfigSource, 'text' | 'document'>,
  unknown: readonly (readonly PropertyKey[])[],
): readonly string[] {
  let masked = text;
  for (const [start, end] of [...secretRanges(document), ...unknown.flatMap((at) => rangeAt(document, at))]) {
    masked = masked.slice(0, start) + maskOf(masked.slice(start, end)) + masked.slice(end);
  }
  const lines = masked.split('\n').map((line) => line.replace(/\r$/, ''));
  // If the file is not YAML, the names above a value are unknown.
  return document.errors.length === 0 ? lines : lines.map(maskBySight);
}

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_NAMES.includes(name);
}

type Range = readonly [start: number, end: number];

function secretRanges(document: Document): readonly Range[] {
  const ranges: Range[] = [];
  visit(document, {
    Scalar(role, { value, range }, ancestors) {
      if (role === 'key' || range == null) return;
      const names = ancestors.filter((node) => isPair(node)).map(nameOf);
      if (mayBeSecret(names, String(value))) ranges.push([range[0], range[1]]);
    },
  });
  return ranges;
}

function nameOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

/** A webhook's URL is a secret: it suffices to post to the channel. */
function mayBeSecret(names: readonly string[], value: string): boolean {
  if (URL_CREDENTIALS.test(value)) return true;
  if (SECRET_REFERENCE.test(value) || HARMLESS_NAMES.includes(names.at(-1) ?? '')) return false;
  return names.some(isSecretName) || (names.includes('notify') && names.includes('url'));
}

function rangeAt(document: Document, path: readonly PropertyKey[]): readonly Range[] {
  const range = (document.getIn(path, true) as Node | undefined)?.range;
  return range == null ? [] : [[range[0], range[1]]];
}

const NAMED = /^(.*?(?:key|secret|token|passw|credential|auth|from)[\w.-]*["']?\s*:)(.*)$/i;
const REFERENCE_ONLY = /^[\s{]*(?:from\s*:)?\s*["']?(?:env|file):[^\s"']+["']?[\s}]*$/;

function maskBySight(line: string): string {
  const [, name, rest] = NAMED.exec(line) ?? [];
  if (name === undefined || rest === undefined) return line;
  return REFERENCE_ONLY.test(rest) ? line : name + maskOf(rest);
}

function maskOf(text: string): string {
  return text.replaceAll(/[^\s]/g, '*');
}
