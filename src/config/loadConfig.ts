import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { LineCounter, parseDocument } from 'yaml';

import { SlipwayError } from '../domain/errors.ts';
import { type ConfigProblem, configProblems } from './configProblem.ts';
import { Config } from './configSchema.ts';
import { fieldsAt } from './fieldsAt.ts';
import { configJsonSchema } from './jsonSchema.ts';

/** The file's name, looked for in the working folder and the folders above it. */
export const CONFIG_FILE = 'slipway.yaml';

/** A right `slipway.yaml`. */
export interface LoadedConfig {
  readonly config: Config;
  /** The file's absolute path. */
  readonly file: string;
  /** The folder of the file, which paths in it are relative to. */
  readonly folder: string;
}

/** `slipway.yaml` is not right: every problem with its place. */
export class ConfigError extends SlipwayError {
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map(
      ({ line, column, path, message }) =>
        `${file}:${line}:${column} ${path === '' ? '' : `${path}: `}${message}`,
    );
    const first = problems[0];
    super('SLIPWAY_CONFIG_INVALID', lines.join('\n'), {
      place: first === undefined ? file : `${file}:${first.line}:${first.column}`,
      hint: 'mend the file; docs/slipway.schema.json describes every field',
    });
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Loads `slipway.yaml`.
 *
 * @param path - the file. Default: looked for in `from` and the folders above it.
 * @throws SLIPWAY_CONFIG_NOT_FOUND, or {@link ConfigError} with every problem at once.
 */
export async function loadConfig(path?: string, from: string = process.cwd()): Promise<LoadedConfig> {
  const { file, text } = path === undefined ? await findConfig(from) : await readConfig(resolve(from, path));
  return { config: parseConfig(text, file), file, folder: dirname(file) };
}

/**
 * Reads the text of a `slipway.yaml`.
 *
 * @param file - the name that problems are reported under.
 * @throws {@link ConfigError}
 */
export function parseConfig(text: string, file: string): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigError(
      file,
      document.errors.map(({ pos: [offset], message }) => {
        const { line, col } = lines.linePos(offset);
        return { line, column: col, path: '', message };
      }),
    );
  }
  const parsed = Config.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {});
  if (parsed.success) return parsed.data;
  const schema = configJsonSchema();
  const problems = configProblems(parsed.error.issues, { document, lines }, (at) => fieldsAt(schema, at));
  throw new ConfigError(file, problems);
}

async function findConfig(from: string): Promise<{ readonly file: string; readonly text: string }> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, CONFIG_FILE);
    const text = await readIfThere(file);
    if (text !== undefined) return { file, text };
    if (dirname(folder) === folder) break;
  }
  throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `there is no ${CONFIG_FILE} in ${from} or above it`, {
    place: from,
    hint: `write one, or name it with --config`,
  });
}

async function readConfig(file: string): Promise<{ readonly file: string; readonly text: string }> {
  const text = await readIfThere(file);
  if (text !== undefined) return { file, text };
  throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `there is no file ${file}`, { place: file });
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `${file} could not be read`, {
      place: file,
      cause: error,
    });
  }
}
