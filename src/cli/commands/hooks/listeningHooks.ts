import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { meantWord } from '../../../config/nearestWord.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import type { ListeningHook } from '../../../hooks/listeningHook.ts';
import { hookWorkflowId } from '../../../temporal/client/hooks/hookClient.ts';
import type { CommandContext } from '../../context.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/**
 * The hooks of the file, with the targets that each may control.
 * @param only - one hook's name. Default: all of them.
 * @throws SlipwayError SLIPWAY_HOOK_UNKNOWN; what {@link chooseTargetSpec} throws.
 */
export async function listeningHooks(
  context: CommandContext,
  { config, file }: Pick<LoadedConfig, 'config' | 'file'>,
  only?: string,
): Promise<readonly ListeningHook[]> {
  const names = Object.keys(config.hooks);
  if (names.length === 0) {
    throw new SlipwayError('SLIPWAY_HOOK_UNKNOWN', 'slipway.yaml has no hooks', {
      place: file,
      hint: 'docs/hooks.md describes how to write one',
    });
  }
  if (only !== undefined && !names.includes(only)) {
    throw new SlipwayError('SLIPWAY_HOOK_UNKNOWN', `slipway.yaml has no hook "${only}"`, {
      hint: meantWord(only, names, 'it has'),
    });
  }
  /** If the file has only a deployment's id, its name is read once. */
  const ids = new Map<string, Promise<string>>();
  const idOf = (target: string): Promise<string> => {
    const known =
      ids.get(target) ?? chooseTargetSpec(context, config, target).then(({ spec }) => targetWorkflowId(spec));
    ids.set(target, known);
    return known;
  };
  const wanted = Object.entries(config.hooks).filter(([name]) => only === undefined || name === only);
  return Promise.all(
    wanted.map(async ([name, hook]): Promise<ListeningHook> => {
      const promotions = new Map(
        hook.on.flatMap(({ promotion }) => {
          const to = promotion === undefined ? undefined : config.promotions[promotion]?.to;
          return promotion === undefined || to === undefined ? [] : [[promotion, to] as const];
        }),
      );
      const asked = new Set([...hook.on.flatMap(({ targets = [] }) => targets), ...promotions.values()]);
      const targets = new Map(
        await Promise.all([...asked].map(async (target) => [target, await idOf(target)] as const)),
      );
      return {
        name,
        workflowId: hookWorkflowId(name, [...targets.values()]),
        config: hook,
        targets,
        promotions,
      };
    }),
  );
}
