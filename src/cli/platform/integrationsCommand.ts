import { type Command } from 'commander';

import { type CommandContext, type CommonOptions } from '../context.ts';
import { type IntegrationOptions, type IntegrationsOptions } from './integrations.ts';

/** Runs one command with the options that it was given, and tells how it ended. */
type Run = (options: CommonOptions, work: (context: CommandContext) => Promise<number>) => Promise<void>;

/** Puts `integrations add|list|remove` under `slipway platform`, whose options they share. */
export function addIntegrationsCommand(platform: Command, run: Run): void {
  const integrations = platform
    .command('integrations')
    .description('Which git repositories deployments may be built from (docs/git-sources.md)')
    .addHelpText('after', EXAMPLES);
  const command = (name: string, description: string): Command =>
    integrations
      .command(name)
      .description(description)
      .option('--url <url>', "the platform's address (default: SLIPWAY_PLATFORM_URL, or as the home says)");

  command('add <name>', 'Register an integration')
    .requiredOption('--prefix <url>', 'what the addresses of its repositories begin with')
    .option('--credential <reference>', "env:NAME or file:/path of the platform's machine: token or ssh key")
    .option('--username <name>', 'goes with a token (default: x-access-token)')
    .option('--webhook-secret <reference>', 'env:NAME or file:/path: what signs its pushes')
    .action((name: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & IntegrationOptions>();
      return run(options, async (context) =>
        (await import('./integrations.ts')).runAddIntegration(context, name, options),
      );
    });

  command('list', 'Show the integrations').action((_options: unknown, self: Command) => {
    const options = self.optsWithGlobals<CommonOptions & IntegrationsOptions>();
    return run(options, async (context) =>
      (await import('./integrations.ts')).runListIntegrations(context, options),
    );
  });

  command('remove <name>', 'Remove an integration that no deployment uses').action(
    (name: string, _options: unknown, self: Command) => {
      const options = self.optsWithGlobals<CommonOptions & IntegrationsOptions>();
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
