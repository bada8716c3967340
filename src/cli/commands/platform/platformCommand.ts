import { type Command, InvalidArgumentError, Option } from 'commander';

import type { CommonOptions } from '../../context.ts';
import { exitWithParent } from '../../exitWithParent.ts';
import type { Run } from '../../program/commandTable.ts';
import { portOption } from '../../program/options.ts';
import { addAccessCommands } from './accessCommands.ts';
import { addIntegrationsCommand } from './integrationsCommand.ts';
import { addListenersCommand } from './listenersCommand.ts';
import type { PlatformCommandOptions } from './platform.ts';

/** A platform started alone takes this port, as the one of `slipway dev` does. */
export const PLATFORM_PORT = 4700;

/** Gives `slipway platform` its options, and the commands that call a running platform. */
export function addPlatformCommand(platform: Command, run: Run): void {
  platform
    .option('--port <port>', 'its port; 0 takes a free one', portOption, PLATFORM_PORT)
    .option('--host <host>', 'the address that it listens on (default: 127.0.0.1)')
    .addOption(
      new Option('--database-url <url>', 'any Postgres (default: an embedded one)').env('DATABASE_URL'),
    )
    .addOption(
      new Option('--vocabulary <whose>', 'the field names on the wire: of the contract, or of the public API')
        .choices(['contract', 'public', 'both'])
        .default('both'),
    )
    .addOption(
      new Option('--rate-limit <requests>', 'requests per second of each key; 0: unlimited (default: 500)')
        .env('SLIPWAY_RATE_LIMIT')
        .argParser(wholeNumber(0, 1_000_000)),
    )
    .addOption(
      new Option(
        '--rate-burst <requests>',
        'burst of requests of each key (default: ten seconds of the rate)',
      )
        .env('SLIPWAY_RATE_BURST')
        .argParser(wholeNumber(1, 10_000_000)),
    )
    .addOption(
      new Option('--max-body <megabytes>', 'the largest body of a request to the control plane (default: 1)')
        .env('SLIPWAY_MAX_BODY_MB')
        .argParser(wholeNumber(1, 100)),
    )
    .addOption(
      new Option('--max-upload <megabytes>', 'the largest source that may be uploaded (default: 200)')
        .env('SLIPWAY_MAX_UPLOAD_MB')
        .argParser(wholeNumber(1, 200)),
    )
    .addOption(
      new Option('--keep-audit <days>', 'how long the record of changes is kept (default: 365)')
        .env('SLIPWAY_AUDIT_DAYS')
        .argParser(wholeNumber(1, 36_500)),
    )
    .option('--adopt-database', 'start although home and database do not belong together, and join them')
    .action((options: CommonOptions & Omit<PlatformCommandOptions, 'home' | 'json'>) =>
      run(options, async (context) => {
        exitWithParent(context.environment);
        const { runPlatformCommand } = await import('./platform.ts');
        await runPlatformCommand({ ...options, home: context.home, json: options.json ?? false }, context);
        return 0;
      }),
    );

  addIntegrationsCommand(platform, run);
  addListenersCommand(platform, run);
  addAccessCommands(platform, run);
}

/** Reads a whole number within bounds; an empty text, as a variable of the environment may be, is none. */
function wholeNumber(least: number, most: number): (text: string) => number | undefined {
  return (text) => {
    if (text === '') return undefined;
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least || number > most) {
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
    }
    return number;
  };
}
