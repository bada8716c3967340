import { constants, createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { digestFile } from '../../../artifact/digest.ts';
import { systemReason } from '../../../artifact/sourceFiles.ts';
import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { FieldProblem } from '../../../config/configProblem.ts';
import type { Config } from '../../../config/configSchema.ts';
import type { Judge } from '../../../config/judgeSchema.ts';
import type { LintedConfig } from '../../../config/loadConfig.ts';
import { requireFile } from '../../../config/requireFile.ts';
import type { Expectation } from '../../../domain/check/expectation.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { JudgeInputs } from '../../../domain/judge/settings.ts';
import { type Input, inputsOfFile, noInput } from '../../../judge/inputs.ts';
import { declaredJudges } from './declaredJudges.ts';

/**
 * The inputs of a file, one at a time.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID if the file is missing or cannot be read; while iterating, if an input is invalid, with
 * its line.
 */
export async function openInputs(
  file: string,
  name = file,
  expect?: Expectation,
): Promise<AsyncIterable<Input>> {
  try {
    await requireFile(file);
    await access(file, constants.R_OK);
  } catch (cause) {
    const message = `the file of inputs cannot be read: ${systemReason(cause)}`;
    const hint = 'create the file, or correct its path';
    throw new SlipwayError('SLIPWAY_JUDGE_INPUTS_INVALID', message, { place: name, hint, cause });
  }
  return inputsOfFile(createReadStream(file), name, expect);
}

export interface PreparedInputs {
  readonly inputs: JudgeInputs;
  /** Puts the file of inputs into the artifact store. Call it before the request. */
  readonly store: (store: ArtifactStore) => Promise<void>;
}

/**
 * A declared judge's inputs. A file is referenced by its digest, so later edits have no effect. All of it is validated
 * now, so that an invalid line does not fail only when the judge runs.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID with the line.
 */
export async function judgeInputs(
  { inputs: name, expect }: Pick<Judge, 'inputs' | 'expect'>,
  folder: string,
): Promise<PreparedInputs> {
  if (name === undefined) return { inputs: 'recorded', store: () => Promise.resolve() };
  const file = resolve(folder, name);
  let count = 0;
  for await (const _ of await openInputs(file, name, expect)) count += 1;
  if (count === 0) throw noInput(name);
  const digest = await digestFile(file);
  return { inputs: { digest, name }, store: (store) => store.put(file, digest) };
}

/** Finds files of inputs that the judges of promotions and previews cannot use: the first wrong line of each. */
export async function lintJudges({
  file,
  config,
  place,
}: Pick<LintedConfig, 'file' | 'place'> & { readonly config: Config }): Promise<readonly ConfigProblem[]> {
  const problems: FieldProblem[] = [];
  for (const { path, judge } of declaredJudges(config)) {
    try {
      await judgeInputs(judge, dirname(file));
    } catch (error) {
      if (!(error instanceof SlipwayError)) throw error;
      const { code, message, place: line } = error;
      problems.push({ path: [...path, 'inputs'], code, message: `${line ?? ''}: ${message}` });
    }
  }
  return place(problems, []);
}
