import { makeHome } from '../../../config/home.ts';
import { serve } from '../../../dashboard/listen.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { openHooks } from './openHooks.ts';

interface HooksOptions extends FileOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * `slipway hooks`: serves the hooks of the file until SIGTERM or SIGINT. Prints
 * `{"event":"ready","hooks":"http://…","names":[…]}` once it listens. With `SLIPWAY_EXIT_WITH_PARENT=1` it also ends when its
 * stdin ends.
 */
export async function runHooksCommand(
  context: CommandContext,
  { config: path, host, port }: HooksOptions,
): Promise<number> {
  const { output, environment, home } = context;
  exitWithParent(environment);
  return interruptible(async (signal) => {
    const { hooks, routes } = await openHooks(context, path, signal);
    await makeHome(home);
    return withTemporal(context, async (temporal) => {
      const listening = await serve(routes(temporal), host, port);
      output.event({ event: 'ready', hooks: listening.url, names: hooks.map(({ name }) => name) });
      for (const { name, config } of hooks)
        output.print(`${name} (${config.form}) listens at ${listening.url}/hooks/${name}`);
      await untilAborted(signal);
      await listening.close();
      return 0;
    });
  });
}
