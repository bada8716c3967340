import { type Document, isMap, isNode, isScalar, type LineCounter, type Node } from 'yaml';

import type { WholeNumber } from '../domain/scalars.ts';

/** A parsed file, to find places in. */
export interface ConfigSource {
  readonly text: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Where something stands in the file. */
export interface ConfigPlace {
  /** From 1. */
  readonly line: WholeNumber;
  /** From 1. */
  readonly column: WholeNumber;
  /** How many characters it takes: at least 1. */
  readonly length: WholeNumber;
}

/** Something in `slipway.yaml` that is invalid, or has no effect, and where. */
export interface ConfigProblem extends ConfigPlace {
  /** `slipway.yaml`, or a file that it extends. */
  readonly file: string;
  /** `warning`: it is valid, but has no effect. */
  readonly severity: 'error' | 'warning';
  /** The field's path: `targets.staging.apiKey`. Empty if the file is no YAML. */
  readonly path: string;
  readonly message: string;
  /** The line. What may be a secret is masked with `*`. */
  readonly excerpt: string;
}

/**
 * Where a field stands: its value, or its name; for one that is missing, where the nearest part around it does.
 *
 * @param atKey - its name is meant.
 */
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
    // What is missing is missing below a name: that is shown, and not the first thing below it.
    const name = length < path.length ? keyNode(document, path.slice(0, length)) : undefined;
    return placeOfNode(source, isMap(node) && name !== undefined ? name : node);
  }
  return isNode(document.contents)
    ? placeOfNode(source, document.contents)
    : { line: 1, column: 1, length: 1 };
}

/** Where a range of the text stands, as far as its first line goes. Offsets from 0, `end` not included. */
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
