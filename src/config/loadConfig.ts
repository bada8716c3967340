import { dirname } from 'node:path';

import { type Document, LineCounter, parseDocument } from 'yaml';

import { ConfigError } from './configError.ts';
import { readableLines } from './configExcerpt.ts';
import { type ConfigSource, placeOfRange } from './configPlace.ts';
import { type ConfigProblem, inOrder, placeProblems, schemaProblems } from './configProblem.ts';
import { Config } from './configSchema.ts';
import { configWarnings } from './configWarnings.ts';
import { fieldsAt } from './fieldsAt.ts';
import { findConfig } from './findConfig.ts';
import { configJsonSchema } from './jsonSchema.ts';

/** A right `slipway.yaml`. */
export interface LoadedConfig {
  readonly config: Config;
  /** The file's absolute path. */
  readonly file: string;
  /** The folder of the file, which paths in it are relative to. */
  readonly folder: string;
  /** What is right in it and has no effect. */
  readonly warnings: readonly ConfigProblem[];
}

/** What was read of a `slipway.yaml`, right or not. */
export interface LintedConfig {
  readonly file: string;
  /** `undefined` where the file is not right. */
  readonly config: Config | undefined;
  /** Everything that is wrong, or has no effect, in the order of the file. */
  readonly problems: readonly ConfigProblem[];
}

/**
 * Loads `slipway.yaml`.
 *
 * @param path - the file. Default: looked for in `from` and the folders above it.
 * @throws SLIPWAY_CONFIG_NOT_FOUND, or {@link ConfigError} with every problem at once.
 */
export async function loadConfig(path?: string, from: string = process.cwd()): Promise<LoadedConfig> {
  const { file, config, problems } = await lintConfig(path, from);
  if (config === undefined) throw notRight(file, problems);
  return { config, file, folder: dirname(file), warnings: problems };
}

/**
 * Reads `slipway.yaml`, and says everything that is wrong in it.
 *
 * @param path - as {@link loadConfig} takes it.
 * @throws SLIPWAY_CONFIG_NOT_FOUND.
 */
export async function lintConfig(path?: string, from: string = process.cwd()): Promise<LintedConfig> {
  const { file, text } = await findConfig(path, from);
  return { file, ...lintText(text) };
}

/**
 * Reads the text of a `slipway.yaml`.
 *
 * @param file - the name that problems are reported under.
 * @throws {@link ConfigError}
 */
export function parseConfig(text: string, file: string): Config {
  const { config, problems } = lintText(text);
  if (config === undefined) throw notRight(file, problems);
  return config;
}

/** Says everything that is wrong in the text of a `slipway.yaml`. */
export function lintText(text: string): Pick<LintedConfig, 'config' | 'problems'> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const source: ConfigSource = { text, document, lines };
  const yamlProblems = [
    ...problemsOfYaml(source, 'error', document.errors),
    ...problemsOfYaml(source, 'warning', document.warnings),
  ];
  if (document.errors.length > 0) return { config: undefined, problems: yamlProblems.sort(inOrder) };
  const raw: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  const parsed = Config.safeParse(raw);
  const schema = configJsonSchema();
  const errors = parsed.success
    ? []
    : schemaProblems(parsed.error.issues, raw, (path) => fieldsAt(schema, path));
  const problems = placeProblems(source, errors, configWarnings(raw, Date.now()));
  return { config: parsed.data, problems: [...yamlProblems, ...problems].sort(inOrder) };
}

function problemsOfYaml(
  source: ConfigSource,
  severity: ConfigProblem['severity'],
  found: Document['errors'] | Document['warnings'],
): ConfigProblem[] {
  const lines = readableLines(source, []);
  return found.map(({ pos: [start, end], message }) => {
    const place = placeOfRange(source, start, end);
    return { severity, ...place, path: '', message, excerpt: lines[place.line - 1] ?? '' };
  });
}

function notRight(file: string, problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError(
    file,
    problems.filter(({ severity }) => severity === 'error'),
  );
}
