import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { type PromotionSettings, promotionSettings } from '../../../config/promotionSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import {
  type PromotionJudge,
  type PromotionRequest,
  promotionWorkflowId,
} from '../../../domain/promotion/promotion.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { CommandContext } from '../../context.ts';
import { commandProver } from '../../identity/keepProof.ts';
import { gitIn } from '../../provenance.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { notifyOf } from '../release/releaseRequest.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { openArtifactStore } from '../../../artifact/openArtifactStore.ts';
import { digestFile } from '../../../artifact/digest.ts';
import { type Judge, judgeSettings } from '../../../config/judgeSchema.ts';
import { noInput } from '../../../judge/inputs.ts';
import { openInputs } from '../judge/inputsFile.ts';

/** The request for a promotion of the file. */
export interface PreparedPromotion {
  readonly request: PromotionRequest;
  readonly settings: PromotionSettings;
  /** Puts what the promotion needs into the artifact store. Call it before the request. */
  readonly store: () => Promise<void>;
}

/**
 * Makes the request for a promotion of the file.
 *
 * @param specOf - makes the spec of a target. Default: as `chooseTargetSpec` does.
 * @throws SlipwayError as `specOf` does for each of its targets; SLIPWAY_JUDGE_INPUTS_INVALID.
 */
export async function promotionRequest(
  context: CommandContext,
  file: Pick<LoadedConfig, 'config' | 'folder'>,
  name: string,
  requestedBy: Actor,
  specOf: (target: string) => Promise<TargetSpec> = async (target) =>
    (await chooseTargetSpec(context, file.config, target)).spec,
): Promise<PreparedPromotion> {
  const settings = promotionSettings(file.config, name);
  const { soakMs, bakeMs, checkEveryMs, approval, freezes, differences } = settings;
  const store = artifactStoreOf(file, context);
  const judged = settings.judge === undefined ? null : await prepareJudge(settings.judge, file.folder);
  const { notify: receivers = [], ...released } = settings.release;
  const notify = await notifyOf(receivers, context.environment, gitIn(file.folder));
  const release = { ...released, ...(notify.length === 0 ? {} : { notify }) };
  const request: PromotionRequest = {
    name,
    from: await specOf(settings.from),
    to: await specOf(settings.to),
    downstream: await Promise.all(settings.downstream.map(specOf)),
    release,
    soakMs,
    bakeMs,
    checkEveryMs,
    freezes,
    differences,
    store: store.url,
    requestedBy,
    judge: judged?.judge,
    approval,
  };
  return {
    request,
    settings,
    store: async () => {
      if (judged?.inputs != null) await store.put(judged.inputs.file, judged.inputs.digest);
    },
  };
}

/**
 * The request, with the proof of who asks if its approval needs one.
 *
 * @throws SlipwayError SLIPWAY_IDENTITY_UNPROVED.
 */
export async function withProof(
  context: CommandContext,
  request: PromotionRequest,
): Promise<PromotionRequest> {
  const prove = commandProver(context, request.approval, () => openArtifactStore(request.store));
  const requestId = randomUUID();
  const statement = { action: 'promote', workflowId: promotionWorkflowId(request), requestId } as const;
  const identity = await prove?.(statement);
  return identity === undefined ? request : { ...request, asked: { requestId, identity } };
}

/** A promotion's judge, and the file of its inputs, which must be in the store before it runs. */
interface PreparedJudge {
  readonly judge: PromotionJudge;
  /** `null`: recorded inputs. */
  readonly inputs: { readonly file: string; readonly digest: string } | null;
}

/**
 * The file's judge as a promotion carries it. Inputs are referenced by digest, so later edits have no effect. The whole
 * file is validated now, so that an invalid line does not fail only after the soak.
 *
 * @param folder - that of `slipway.yaml`.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID with the line.
 */
async function prepareJudge(declared: Judge, folder: string): Promise<PreparedJudge> {
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
