import { installTemporal } from '../../temporal/server/installation/installation.ts';
import type { CommandContext } from '../context.ts';
import { interruptible } from '../interruption.ts';

/** `slipway temporal install`: finds the `temporal` executable, or installs it into the user's cache directory. */
export async function runTemporalInstallCommand({ output, environment }: CommandContext): Promise<void> {
  return interruptible(async (signal) => {
    const { path, origin } = await installTemporal({
      onProgress: (line) => {
        output.event({ event: 'progress', message: line });
        output.progress(line);
      },
      signal,
      env: environment,
    });
    output.event({ event: 'installed', path, origin });
    output.print(`${path} (${origin})`);
  });
}
