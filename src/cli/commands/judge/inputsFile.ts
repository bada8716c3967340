import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';

import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { digestFile } from '../../../artifact/digest.ts';
import { systemReason } from '../../../artifact/sourceFiles.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { JudgeInputs } from '../../../domain/judge/settings.ts';
import { type Input, inputsOfFile, noInput } from '../../../judge/inputs.ts';

/**
 * The inputs of a file, one at a time.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID if the file is missing; while iterating, with the line, if an input is invalid.
 */
export async function openInputs(file: string, name = file): Promise<AsyncIterable<Input>> {
  try {
    await access(file);
  } catch (cause) {
    const message = `the file of inputs cannot be read: ${systemReason(cause)}`;
    throw new SlipwayError('SLIPWAY_JUDGE_INPUTS_INVALID', message, { place: name, cause });
  }
  return inputsOfFile(createReadStream(file), name);
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
  { inputs: name }: { readonly inputs?: string },
  folder: string,
): Promise<PreparedInputs> {
  if (name === undefined) return { inputs: 'recorded', store: () => Promise.resolve() };
  const file = resolve(folder, name);
  let count = 0;
  for await (const _ of await openInputs(file, name)) count += 1;
  if (count === 0) throw noInput(name);
  const digest = await digestFile(file);
  return { inputs: { digest, name }, store: (store) => store.put(file, digest) };
}
