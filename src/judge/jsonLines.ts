import type { Readable } from 'node:stream';

import type { z } from 'zod';

import { schemaProblems } from '../config/configProblem.ts';
import { parsedJson, type WholeNumber } from '../domain/scalars.ts';

export interface JsonLine {
  /** From 1. */
  readonly line: WholeNumber;
  readonly text: string;
  /** `undefined`: it is not JSON, not UTF-8, or nested deeper than 100 levels. */
  readonly value: unknown;
}

const LINE_FEED = 0x0a;
/** As many as a release request may have. */
const LEVELS_MAX = 100;
/** A decoder removes a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The lines of a file of JSON Lines, read one at a time. Empty ones are left out.
 *
 * They end with a line feed only. `readline` also ends lines at U+2028, which the text of JSON may contain.
 */
export async function* jsonLines(stream: Readable): AsyncGenerator<JsonLine, void> {
  let line = 0;
  let begun: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      yield* jsonLine((line += 1), [...begun, chunk.subarray(from, end)]);
      begun = [];
      from = end + 1;
    }
    begun.push(chunk.subarray(from));
  }
  yield* jsonLine(line + 1, begun);
}

function* jsonLine(line: number, parts: readonly Buffer[]): Generator<JsonLine, void> {
  const bytes = Buffer.concat(parts);
  const text = decoded(bytes);
  if (text === undefined) yield { line, text: bytes.toString('latin1'), value: undefined };
  else if (text.trim() !== '') yield { line, text, value: parsedJson(text, LEVELS_MAX) };
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** What is wrong with a line, in words. @param error - of a parse with `FOR_PROBLEMS`. */
export function lineProblem({ issues }: z.ZodError, value: unknown): string {
  if (value === undefined) return 'the line is not JSON in UTF-8, or nested deeper than 100 levels';
  return schemaProblems(issues)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`))
    .join('; ');
}
