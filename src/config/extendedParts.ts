import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { isMap } from 'yaml';

import { readableLines } from './configExcerpt.ts';
import { type ConfigPart, configPart } from './configPart.ts';
import { type ConfigProblem, placeOfField } from './configPlace.ts';
import type { Environment } from './variables.ts';

/** Of how many files a configuration may be made. */
const PARTS_MAX = 20;

/**
 * Reads what a file extends, and what that extends in turn.
 *
 * @returns the file itself first; of two that say something, the earlier one is right.
 */
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
  // The last one that is named is right over those before it.
  for (const { name, path } of extendsOf(part).reverse()) {
    const file = resolve(dirname(part.file), name);
    const read = await readPart(file, way, found.length, environment);
    if (typeof read !== 'string') {
      await collect(read, [...way, file], found, environment);
      continue;
    }
    const place = placeOfField(part, path, false);
    const excerpt = readableLines(part, [])[place.line - 1] ?? '';
    problems.push({ file: part.file, severity: 'error', ...place, path: 'extends', message: read, excerpt });
  }
  found[at] = { ...part, problems: [...part.problems, ...problems] };
}

/** The part, or what is wrong. */
async function readPart(
  file: string,
  way: readonly string[],
  count: number,
  environment: Environment,
): Promise<ConfigPart | string> {
  if (way.includes(file)) return `extends itself: ${[...way.slice(way.indexOf(file)), file].join(' → ')}`;
  if (count >= PARTS_MAX) return `a configuration is made of ${PARTS_MAX} files at most`;
  try {
    const part = configPart(file, await readFile(file, 'utf8'), environment);
    const { contents } = part.document;
    return isMap(contents) || contents === null ? part : `${file} holds no fields`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code === 'ENOENT' ? `there is no file ${file}` : `${file} could not be read (${code})`;
  }
}

/** What a file extends, as it is written. What is no text is told of when the whole is checked. */
function extendsOf({ raw }: ConfigPart): { name: string; path: PropertyKey[] }[] {
  const written = typeof raw === 'object' && raw !== null && 'extends' in raw ? raw.extends : undefined;
  if (typeof written === 'string') return [{ name: written, path: ['extends'] }];
  if (!Array.isArray(written)) return [];
  return written.flatMap((name: unknown, index) =>
    typeof name === 'string' ? [{ name, path: ['extends', index] }] : [],
  );
}
