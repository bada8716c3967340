import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { type PromotionSettings, promotionSettings } from '../../../config/promotionSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { PromotionRequest } from '../../../domain/promotion/promotion.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import type { CommandContext } from '../../context.ts';
import { gitIn } from '../../provenance.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { notifyOf } from '../release/notifyOf.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { prepareJudge } from './promotionJudge.ts';

/** The request for a promotion of the file. */
export interface PreparedPromotion {
  readonly request: PromotionRequest;
  readonly settings: PromotionSettings;
  /** Puts what the promotion needs into the artifact store, before it is asked for. */
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
