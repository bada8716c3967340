import { type Document, isMap, isNode, isScalar, type LineCounter, type Node } from 'yaml';
import { type z } from 'zod';

import { nearestWord } from './nearestWord.ts';

/** One thing that is wrong in `slipway.yaml`, and where. */
export interface ConfigProblem {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The field's path: `targets.staging.apiKey`. */
  readonly path: string;
  readonly message: string;
}

/** A parsed file, to find places in. */
export interface ConfigSource {
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Everything that the schema found, each with its place: all at once, so that nobody mends them one by one. */
export function configProblems(
  issues: readonly z.core.$ZodIssue[],
  source: ConfigSource,
  validWords: (path: readonly PropertyKey[]) => readonly string[],
): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [problemAt(source, issue.path, describe(issue))];
    return issue.keys.map((key) => {
      const near = nearestWord(key, validWords(issue.path));
      const suggestion = near === undefined ? '' : `; did you mean "${near}"?`;
      return problemAt(source, [...issue.path, key], `unknown field "${key}"${suggestion}`, true);
    });
  });
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') {
    return `expected one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
  }
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  return issue.message.replace(/^Invalid input: /, '');
}

function problemAt(
  source: ConfigSource,
  path: readonly PropertyKey[],
  message: string,
  atKey = false,
): ConfigProblem {
  const { line, col } = source.lines.linePos(offsetOf(source.document, path, atKey));
  return { line, column: col, path: path.map(String).join('.'), message };
}

/** Where a field stands; for one that is missing, where the nearest part around it does. */
function offsetOf(document: Document, path: readonly PropertyKey[], atKey: boolean): number {
  if (atKey) {
    const parent = document.getIn(path.slice(0, -1), true);
    const key = isMap(parent)
      ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key
      : undefined;
    if (isNode(key)) return startOf(key);
  }
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return startOf(node);
  }
  return isNode(document.contents) ? startOf(document.contents) : 0;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
