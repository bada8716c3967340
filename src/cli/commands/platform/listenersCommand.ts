import { type Command, Option } from 'commander';

import type { CommonOptions } from '../../context.ts';
import type { Run } from '../../program/commandTable.ts';
import { callingCommand } from './callingCommand.ts';
import type { ListenerOptions } from './listeners.ts';
import type { PlatformClientOptions } from './platformClient.ts';

/** Puts `listeners add|list|remove` under `slipway platform`, whose options they share. */
export function addListenersCommand(platform: Command, run: Run): void {
  const listeners = platform
    .command('listeners')
    .description('Manage listeners, which deploy to your own compute; deployments name one in listener_id')
    .addHelpText('after', EXAMPLES);

  callingCommand(listeners, 'add <compute-id>', "Register a listener, by the operator's name of its compute")
    .addOption(
      new Option('--type <type>', "where it deploys to; docker: the engine of the platform's machine")
        .choices(['cluster', 'docker'])
        .makeOptionMandatory(),
    )
    .option('--namespace <name...>', 'cluster namespaces that deployments may use (default: any)')
    .option('--listener-version <version>', 'the version of the listener')
    .action((computeId: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & ListenerOptions>();
      return run(options, async (context) =>
        (await import('./listeners.ts')).runAddListener(context, computeId, options),
      );
    });

  callingCommand(listeners, 'list', 'Show the listeners').action((_options: unknown, self: Command) => {
    const options = self.optsWithGlobals<CommonOptions & PlatformClientOptions>();
    return run(options, async (context) =>
      (await import('./listeners.ts')).runListListeners(context, options),
    );
  });

  callingCommand(listeners, 'remove <compute-id>', 'Remove a listener that no deployment uses').action(
    (computeId: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./listeners.ts')).runRemoveListener(context, computeId, options),
      );
    },
  );
}

const EXAMPLES = `
Examples:
  $ slipway platform listeners add production-eu --type cluster --namespace agents agents-staging
  $ slipway platform listeners add this-machine --type docker
  $ slipway platform listeners list --json`;
