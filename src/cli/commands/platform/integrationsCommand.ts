import type { Command } from 'commander';

import type { CommonOptions } from '../../context.ts';
import type { Run } from '../../program/commandTable.ts';
import { callingCommand } from './callingCommand.ts';
import type { IntegrationOptions } from './integrations.ts';
import type { PlatformClientOptions } from './platformClient.ts';

/** Puts `integrations add|list|remove` under `slipway platform`, whose options they share. */
export function addIntegrationsCommand(platform: Command, run: Run): void {
  const integrations = platform
    .command('integrations')
    .description('Manage the git repositories that deployments build from (docs/git-sources.md)')
    .addHelpText('after', EXAMPLES);

  callingCommand(integrations, 'add <name>', 'Register an integration')
    .requiredOption('--prefix <url>', 'the common prefix of its repository addresses')
    .option('--credential <reference>', "env:NAME or file:/path of the platform's machine: token or ssh key")
    .option('--username <name>', 'the user name for a token (default: x-access-token)')
    .option('--webhook-secret <reference>', 'env:NAME or file:/path of the secret that signs its pushes')
    .action((name: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & IntegrationOptions>();
      return run(options, async (context) =>
        (await import('./integrations.ts')).runAddIntegration(context, name, options),
      );
    });

  callingCommand(integrations, 'list', 'Show the integrations').action((_options: unknown, self: Command) => {
    const options = self.optsWithGlobals<CommonOptions & PlatformClientOptions>();
    return run(options, async (context) =>
      (await import('./integrations.ts')).runListIntegrations(context, options),
    );
  });

  callingCommand(integrations, 'remove <name>', 'Remove an integration that no deployment uses').action(
    (name: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./integrations.ts')).runRemoveIntegration(context, name, options),
      );
    },
  );
}

const EXAMPLES = `
Examples:
  $ slipway platform integrations add acme --prefix https://github.com/acme --credential env:GITHUB_TOKEN
  $ slipway platform integrations add local --prefix /srv/git
  $ slipway platform integrations list --json`;
