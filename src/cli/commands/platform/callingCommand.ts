import type { Command } from 'commander';

/** A command that calls a running platform, with the options that say which (`PlatformClientOptions`). */
export function callingCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--url <url>', "the platform's address (default: SLIPWAY_PLATFORM_URL, or from the home)")
    .option('--tenant <id>', "one of the key's tenants (default: its first)");
}
