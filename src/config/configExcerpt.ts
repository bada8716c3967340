import { isPair, isScalar, type Node, type Pair, type Document, visit } from 'yaml';

import { SECRET_REFERENCE } from '@slipway/contract/secretReference';
import type { ConfigSource } from './configPlace.ts';

/** Names of fields whose values may be secrets, whatever belongs there. */
const SECRET_NAME = /key|secret|token|passw|credential|auth/i;
/** A field that ends in `Key` and is none: contract 001, "Feedback". */
const HARMLESS_NAMES: readonly string[] = ['feedbackKey', 'name'];
const URL_CREDENTIALS = /:\/\/[^/\s]*@/;

/**
 * The lines of the file, fit to be shown: a secret that was written where only a reference belongs is made unreadable.
 * What is masked keeps its length, so that columns stay true.
 *
 * @param unknown - paths of fields that may have been meant for secrets: their values are masked too.
 */
export function readableLines(
  { text, document }: Pick<ConfigSource, 'text' | 'document'>,
  unknown: readonly (readonly PropertyKey[])[],
): readonly string[] {
  let masked = text;
  for (const [start, end] of [...secretRanges(document), ...unknown.flatMap((at) => rangeAt(document, at))]) {
    masked = masked.slice(0, start) + maskOf(masked.slice(start, end)) + masked.slice(end);
  }
  const lines = masked.split('\n').map((line) => line.replace(/\r$/, ''));
  // Where the file is no YAML, it is not known what stands below which name.
  return document.errors.length === 0 ? lines : lines.map(maskBySight);
}

/** Whether a value under this name may be a secret. */
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

/** The URL of a webhook lets whoever knows it speak in its channel. */
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
