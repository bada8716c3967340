import { resolve } from 'node:path';

import { digestFile } from '../../../artifact/digest.ts';
import { type Judge, judgeSettings } from '../../../config/judgeSchema.ts';
import type { PromotionJudge } from '../../../domain/promotion/promotion.ts';
import { noInput } from '../../../judge/inputs.ts';
import { openInputs } from '../judge/inputsFile.ts';

/** A promotion's judge, and the file of its inputs, which has to be in the store when it judges. */
export interface PreparedJudge {
  readonly judge: PromotionJudge;
  /** `null`: recorded inputs. */
  readonly inputs: { readonly file: string; readonly digest: string } | null;
}

/**
 * The judge of the file, as a promotion carries it: its inputs by their digest, so that they stay those of this moment.
 * The whole file is read, so that a line that is not right is found now and not after the soak.
 *
 * @param folder - that of `slipway.yaml`.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID with the line.
 */
export async function prepareJudge(declared: Judge, folder: string): Promise<PreparedJudge> {
  const { onInconclusive, again } = declared;
  const judge = {
    settings: judgeSettings(declared),
    onInconclusive,
    again: { afterMs: again.after, times: again.times },
  };
  if (declared.inputs === undefined) return { judge: { ...judge, inputs: 'recorded' }, inputs: null };
  const name = declared.inputs;
  const file = resolve(folder, name);
  await requireRight(file, name);
  const digest = await digestFile(file);
  return { judge: { ...judge, inputs: { digest, name } }, inputs: { file, digest } };
}

async function requireRight(file: string, name: string): Promise<void> {
  let inputs = 0;
  for await (const _ of await openInputs(file, name)) inputs += 1;
  if (inputs === 0) throw noInput(name);
}
