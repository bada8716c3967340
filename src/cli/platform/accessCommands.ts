import { type Command } from 'commander';

import { type CommandContext, type CommonOptions } from '../context.ts';
import { durationOption, numberOption } from '../options.ts';
import { type AuditOptions } from './audit.ts';
import { type KeysCreateOptions } from './keys.ts';
import { type PlatformClientOptions } from './platformClient.ts';

/** Runs a command's work and tells its exit code. */
type Run = (options: CommonOptions, work: (context: CommandContext) => Promise<number>) => Promise<void>;

/** Puts `keys`, `secrets` and `audit` under `slipway platform`, whose options they share: who may do what, and who did. */
export function addAccessCommands(platform: Command, run: Run): void {
  const keys = quiet(platform.command('keys').description('Who may do what: API keys'));
  calling(keys, 'create <name>', 'Make a key, and show it this once')
    .requiredOption('--scope <scope>', 'what it may do: read, deploy or admin')
    .option(
      '--expires-in <duration>',
      'until when it is good: 720h (default: until it is revoked)',
      durationOption,
    )
    .action((name: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & KeysCreateOptions>();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysCreateCommand(context, name, options),
      );
    });
  calling(keys, 'list', 'The keys of the tenant')
    .option('--revoked', 'the revoked ones too')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        CommonOptions & PlatformClientOptions & { revoked?: boolean }
      >();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysListCommand(context, options),
      );
    });
  calling(keys, 'revoke <id>', 'End a key, at once').action((id: string, _: unknown, command: Command) => {
    const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
    return run(options, async (context) =>
      (await import('./keys.ts')).runKeysRevokeCommand(context, id, options),
    );
  });
  const secrets = quiet(platform.command('secrets').description('What the platform stores encrypted'));
  calling(secrets, 'rotate', 'Give the stored secrets a new master key').action(
    (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./secrets.ts')).runSecretsRotateCommand(context, options),
      );
    },
  );
  calling(platform, 'audit', 'Who changed what')
    .option('--last <count>', 'how many changes, at most 100', numberOption, 20)
    .option('--operation <name>', 'only these: createDeployment, patchDeployment, …')
    .option('--resource <id>', 'only what was about this deployment, revision or key')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & AuditOptions>();
      return run(options, async (context) => (await import('./audit.ts')).runAuditCommand(context, options));
    });
}

/** A command that calls a running platform. */
function calling(parent: Command, name: string, description: string): Command {
  return quiet(parent.command(name).description(description))
    .option('--url <url>', "the platform's address (default: SLIPWAY_PLATFORM_URL, or as the home says)")
    .option('--tenant <id>', "for which of the key's tenants (default: its first)");
}

/** What is wrong with the command line is told by the caller, in the one way that errors are told. */
function quiet(command: Command): Command {
  return command.exitOverride().configureOutput({ outputError: () => undefined });
}
