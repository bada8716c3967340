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
  const keys = platform.command('keys').description('Manage API keys');
  callingCommand(keys, 'create <name>', 'Create a key, and print it once')
    .requiredOption('--scope <scope>', 'what it may do: read, deploy or admin')
    .option('--expires-in <duration>', 'when it expires: 720h (default: never)', durationOption)
    .action((name: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & KeysCreateOptions>();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysCreateCommand(context, name, options),
      );
    });
  callingCommand(keys, 'list', 'List the keys of the tenant')
    .option('--revoked', 'list revoked keys, too')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        CommonOptions & PlatformClientOptions & { revoked?: boolean }
      >();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysListCommand(context, options),
      );
    });
  callingCommand(keys, 'revoke <id>', 'Revoke a key at once').action(
    (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./keys.ts')).runKeysRevokeCommand(context, id, options),
      );
    },
  );
  const secrets = platform.command('secrets').description('Manage the secrets that the platform stores');
  callingCommand(secrets, 'rotate', 'Encrypt the stored secrets with a new master key').action(
    (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & PlatformClientOptions>();
      return run(options, async (context) =>
        (await import('./secrets.ts')).runSecretsRotateCommand(context, options),
      );
    },
  );
  callingCommand(platform, 'audit', 'List who changed what')
    .option('--last <count>', 'how many changes, at most 100', numberOption, 20)
    .option('--operation <name>', 'only these: createDeployment, patchDeployment, …')
    .option('--resource <id>', 'only changes of this deployment, revision or key')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & AuditOptions>();
      return run(options, async (context) => (await import('./audit.ts')).runAuditCommand(context, options));
    });
}
