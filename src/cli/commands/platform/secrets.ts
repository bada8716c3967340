import type { CommandContext } from '../../context.ts';
import { type PlatformClientOptions, withPlatform } from './platformClient.ts';

/** How long a rotation may take: it reads and writes every stored secret. */
const ROTATION_TIMEOUT_MS = 600_000;

/** `slipway platform secrets rotate`: a new master key for everything that the platform stores encrypted. */
export async function runSecretsRotateCommand(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<number> {
  const { resealed } = await withPlatform(context, options, (client) =>
    client.rotateSecrets({ timeoutMs: ROTATION_TIMEOUT_MS }),
  );
  context.output.event({ event: 'secrets_rotated', resealed });
  context.output.print(`the platform has a new master key; it encrypted ${resealed} lists of secrets again`);
  context.output.note('store a copy of master.key apart from the database');
  return 0;
}
