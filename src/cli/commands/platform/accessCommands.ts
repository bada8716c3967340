import type { Command } from 'commander';

import type { CommonOptions } from '../../context.ts';
import type { Run } from '../../program/commandTable.ts';
import { durationOption, numberOption } from '../../program/options.ts';
import type { AuditOptions } from './audit.ts';
import { callingCommand } from './callingCommand.ts';
import type { KeysCreateOptions } from './keys.ts';
import type { PlatformClientOptions } from './platformClient.ts';

/** Puts `keys`, `secrets` and `audit` under `slipway platform`, whose options they share: who may do what, and who did. */
export function addAccessCommands(platform: Command, run: Run): void {
  const keys = platform.command('keys').description('Who may do what: API keys');
  callingCommand(keys, 'create <name>', 'Make a key, and show it this once')
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
  callingCommand(keys, 'list', 'The keys of the tenant')
    .option('--revoked', 'the revoked ones too')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        CommonOptions & PlatformClientOptions & { revoked?: boolean }
      >();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysListCommand(context, options),
      );
    });
  callingCommand(keys, 'revoke <id>', 'End a key, at once').action(
    (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysRevokeCommand(context, id, options),
      );
    },
  );
  const secrets = platform.command('secrets').description('What the platform stores encrypted');
  callingCommand(secrets, 'rotate', 'Give the stored secrets a new master key').action(
    (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./secrets.ts')).runSecretsRotateCommand(context, options),
      );
    },
  );
  callingCommand(platform, 'audit', 'Who changed what')
    .option('--last <count>', 'how many changes, at most 100', numberOption, 20)
    .option('--operation <name>', 'only these: createDeployment, patchDeployment, …')
    .option('--resource <id>', 'only what was about this deployment, revision or key')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & AuditOptions>();
      return run(options, async (context) => (await import('./audit.ts')).runAuditCommand(context, options));
    });
}
