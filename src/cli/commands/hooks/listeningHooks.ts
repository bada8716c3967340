import { chooseEntry } from '../../../config/chooseEntry.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { hookWorkflowId, type ListeningHook } from '../../../temporal/client/hooks/hookClient.ts';
import type { CommandContext } from '../../context.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';

/**
 * The hooks of the file, with the targets that each may control.
 * @param only - one hook's name. Default: all of them.
 */
export async function listeningHooks(
  context: CommandContext,
  file: Project,
  only?: string,
): Promise<readonly ListeningHook[]> {
  const { config } = file;
  const all = Object.entries(config.hooks);
  const wanted = only === undefined && all.length > 0 ? all : [chooseEntry(config, 'hooks', only)];
  /** If the file has only a deployment's id, its name is read once. */
  const idOf = shared(async (target) => (await chooseTargetSpec(context, file, target)).workflowId);
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

/** Shares the work in progress among calls for the same name. */
export function shared<T>(work: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (name) => {
    const known = running.get(name);
    if (known !== undefined) return known;
    const begun = work(name).finally(() => running.delete(name));
    running.set(name, begun);
    return begun;
  };
}
