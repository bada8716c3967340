import { dirname } from 'node:path';

import { z } from 'zod';

import { ConfigError } from './configError.ts';
import { type ConfigPart, configPart, extendedParts, mergeParts } from './configPart.ts';
import type { ConfigProblem } from './configPlace.ts';
import { type FieldProblem, FOR_PROBLEMS, inOrder, placeProblems, schemaProblems } from './configProblem.ts';
import { Config } from './configSchema.ts';
import { configWarnings } from './configWarnings.ts';
import type { Environment } from './environment.ts';
import { CONFIG_FILE, findConfig } from './findConfig.ts';
import { releaseSettings, settingsProblem } from './releaseSettings.ts';

export interface Project {
  readonly config: Config;
  /** The file's folder. Paths in the file, and in the files that it extends, are relative to it. */
  readonly folder: string;
}

export interface LoadedConfig extends Project {
  readonly file: string;
  /** Valid fields that have no effect. */
  readonly warnings: readonly ConfigProblem[];
}

/** A `slipway.yaml`, valid or not. */
export interface LintedConfig {
  readonly file: string;
  /** `undefined` if the file is invalid. */
  readonly config: Config | undefined;
  /** All errors and warnings, in the order of the file, then of the files that it extends. */
  readonly problems: readonly ConfigProblem[];
  /** Adds places to errors and warnings that are found later. */
  readonly place: (
    errors: readonly FieldProblem[],
    warnings: readonly FieldProblem[],
  ) => readonly ConfigProblem[];
}

/**
 * Loads `slipway.yaml` with the files that it extends, and substitutes its variables; see {@link findConfig}.
 * @throws SLIPWAY_CONFIG_NOT_FOUND, or {@link ConfigError} with every problem at once.
 */
export async function loadConfig(
  path?: string,
  from: string = process.cwd(),
  naming?: string,
): Promise<LoadedConfig> {
  const { file, config, problems } = await lintConfig(path, from, naming);
  if (config === undefined) {
    const errors = problems.filter(({ severity }) => severity === 'error');
    throw new ConfigError(file, errors);
  }
  return { config, file, folder: dirname(file), warnings: problems };
}

/** Reads `slipway.yaml` and the files that it extends, and reports every problem. */
export async function lintConfig(
  path?: string,
  from: string = process.cwd(),
  naming?: string,
): Promise<LintedConfig> {
  const { file, text } = await findConfig(path, from, naming);
  const parts = await extendedParts(configPart(file, text, process.env), process.env);
  return { file, ...lintParts(parts) };
}

/** Reports every problem in the text of a `slipway.yaml`, without the files that it extends. */
export function lintText(
  text: string,
  file: string = CONFIG_FILE,
  environment: Environment = process.env,
): Omit<LintedConfig, 'file'> {
  return lintParts([configPart(file, text, environment)]);
}

function lintParts(parts: readonly [ConfigPart, ...ConfigPart[]]): Omit<LintedConfig, 'file'> {
  const place: LintedConfig['place'] = (errors, warnings) => placeProblems(parts, errors, warnings);
  const found = parts.flatMap(({ problems }) => problems);
  // A field that seems to be missing may be in a file that could not be read.
  if (found.some(({ severity }) => severity === 'error')) {
    return { config: undefined, problems: found.sort(inOrder(parts)), place };
  }
  const raw = mergeParts(parts.map((part) => part.raw));
  const parsed = Config.safeParse(raw, FOR_PROBLEMS);
  const errors = parsed.success ? refusedSettings(parsed.data) : schemaProblems(parsed.error.issues);
  const problems = place(errors, configWarnings(raw, Date.now()));
  return {
    config: errors.length === 0 ? parsed.data : undefined,
    problems: [...found, ...problems].sort(inOrder(parts)),
    place,
  };
}

/** Targets validate requests with their own rules, which settings from a file must pass too. */
function refusedSettings(config: Config): readonly FieldProblem[] {
  return Object.keys(config.targets).flatMap((name) => {
    const problem = settingsProblem(releaseSettings(config, name));
    const message = `the target would reject each release: ${problem ?? ''}`;
    return problem === undefined ? [] : [{ path: ['targets', name], message }];
  });
}

/** The JSON Schema of a whole `slipway.yaml`: one file, or several merged. */
export function configJsonSchema(): object {
  return {
    ...z.toJSONSchema(Config, { io: 'input', target: 'draft-7' }),
    title: 'slipway.yaml',
    description: 'How an agent is released by Slipway',
  };
}
