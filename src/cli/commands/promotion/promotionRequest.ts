import { randomUUID } from 'node:crypto';

import { pick } from '@slipway/contract/pick';

import { openArtifactStore } from '../../../artifact/openArtifactStore.ts';
import { type Judge, judgeSettings } from '../../../config/judgeSchema.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { type PromotionSettings, promotionSettings } from '../../../config/promotionSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import {
  type PromotionJudge,
  type PromotionRequest,
  promotionWorkflowId,
} from '../../../domain/promotion/promotion.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { CommandContext } from '../../context.ts';
import { type ReadDatasets, readDatasets } from '../../datasets/readDatasets.ts';
import { commandProver } from '../../identity.ts';
import { gitIn } from '../../provenance.ts';
import { artifactStoreOf, makeHomeOf } from '../artifact/artifactStoreOf.ts';
import { judgeInputs, type PreparedInputs } from '../judge/inputsFile.ts';
import { notifyOf } from '../release/releaseRequest.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

export interface PreparedPromotion {
  readonly request: PromotionRequest;
  readonly settings: PromotionSettings;
  /** Puts what the promotion needs into the artifact store. Call it before the request. */
  readonly store: () => Promise<void>;
}

/**
 * Makes the request for a promotion of the file.
 * @param specOf - makes the spec of a target. Default: as `chooseTargetSpec` does.
 * @param read - reads the datasets of its checks. Default: as a release does.
 * @throws SlipwayError as `specOf` does for each of its targets; SLIPWAY_JUDGE_INPUTS_INVALID, SLIPWAY_DATASET_….
 */
export async function promotionRequest(
  context: CommandContext,
  file: Project,
  name: string,
  requestedBy: Actor,
  specOf: (target: string) => Promise<TargetSpec> = async (target) =>
    (await chooseTargetSpec(context, file, target)).spec,
  read: (settings: PromotionSettings['release']) => Promise<ReadDatasets> = (settings) =>
    readDatasets(context, file, settings),
): Promise<PreparedPromotion> {
  const settings = promotionSettings(file.config, name);
  const store = artifactStoreOf(file, context);
  const inputs = settings.judge && (await judgeInputs(settings.judge, file.folder));
  const { notify: receivers = [], ...released } = settings.release;
  const datasets = await read(settings.release);
  const notify = await notifyOf(receivers, context.environment, gitIn(file.folder));
  const release = { ...released, checks: datasets.checks, ...(notify.length === 0 ? {} : { notify }) };
  const request: PromotionRequest = {
    name,
    from: await specOf(settings.from),
    to: await specOf(settings.to),
    downstream: await Promise.all(settings.downstream.map(specOf)),
    release,
    ...pick(settings, 'soakMs', 'bakeMs', 'checkEveryMs', 'approval', 'freezes', 'differences'),
    store: store.url,
    requestedBy,
    judge: settings.judge && inputs && promotionJudge(settings.judge, inputs),
  };
  return {
    request,
    settings,
    store: async () => {
      await makeHomeOf(store, context);
      await datasets.store();
      await inputs?.store(store);
    },
  };
}

/** The request, with the proof of who asks if its approval needs one. */
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

function promotionJudge(declared: Judge, { inputs }: PreparedInputs): PromotionJudge {
  const { onInconclusive, again } = declared;
  return {
    settings: judgeSettings(declared),
    inputs,
    onInconclusive,
    again: { afterMs: again.after, times: again.times },
  };
}
