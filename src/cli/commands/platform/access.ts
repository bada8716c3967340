import type { ApiKey, AuditEntry, Scope } from '@slipway/contract/controlPlane/access';

import type { CommandContext } from '../../context.ts';
import { type PlatformClientOptions, withPlatform } from './platformClient.ts';

interface KeysCreateOptions extends PlatformClientOptions {
  readonly scope: Scope;
  /** In milliseconds from now. Default: never. */
  readonly expiresIn?: number;
}

/** `slipway platform keys create NAME`: creates a key, and prints it only this once. */
export async function runKeysCreateCommand(
  context: CommandContext,
  name: string,
  options: KeysCreateOptions,
): Promise<void> {
  const { expiresIn, scope } = options;
  const created = await withPlatform(context, options, (client) =>
    client.createApiKey({
      name,
      scope,
      expires_at: expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn).toISOString(),
    }),
  );
  context.output.event({ event: 'key', ...created });
  context.output.print(created.key);
  context.output.note(
    `"${name}" may ${created.scope}, for ${created.tenant_ids.join(', ')}; the key is not shown again`,
  );
}

/** `slipway platform keys list`: lists the tenant's keys, without their secret values. */
export async function runKeysListCommand(
  context: CommandContext,
  options: PlatformClientOptions & { readonly revoked?: boolean },
): Promise<void> {
  const revoked = options.revoked ?? false;
  await withPlatform(context, options, async (client) => {
    for await (const key of client.eachApiKey({ revoked })) {
      context.output.event({ event: 'key', ...key });
      context.output.print(keyLine(key));
    }
  });
}

export async function runKeysRevokeCommand(
  context: CommandContext,
  keyId: string,
  options: PlatformClientOptions,
): Promise<void> {
  await withPlatform(context, options, (client) => client.revokeApiKey(keyId));
  context.output.event({ event: 'key_revoked', id: keyId });
  context.output.print(`revoked ${keyId}`);
}

export function keyLine(key: ApiKey): string {
  const end =
    key.revoked_at !== null
      ? `revoked ${key.revoked_at}`
      : key.expires_at === null
        ? 'does not expire'
        : `expires ${key.expires_at}`;
  const used = key.last_used_at === null ? 'never used' : `used ${key.last_used_at}`;
  return `${key.id}  ${key.prefix}…  ${key.scope.padEnd(6)}  ${key.name}  (${used}, ${end})`;
}

/** How long a rotation may take: it reads and writes every stored secret. */
const ROTATION_TIMEOUT_MS = 600_000;

/** `slipway platform secrets rotate`: re-encrypts all stored secrets with a new master key. */
export async function runSecretsRotateCommand(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<void> {
  const { resealed } = await withPlatform(context, options, (client) =>
    client.rotateSecrets({ timeoutMs: ROTATION_TIMEOUT_MS }),
  );
  context.output.event({ event: 'secrets_rotated', resealed });
  context.output.print(`the platform has a new master key; it encrypted ${resealed} lists of secrets again`);
  context.output.note('store a copy of master.key apart from the database');
}

interface AuditOptions extends PlatformClientOptions {
  /** How many of the newest changes are shown: 1 to 100. */
  readonly last: number;
  readonly operation?: string;
  readonly resource?: string;
}

/** `slipway platform audit`: the newest changes, newest first. */
export async function runPlatformAuditCommand(context: CommandContext, options: AuditOptions): Promise<void> {
  const { last, operation, resource } = options;
  const { resources } = await withPlatform(context, options, (client) =>
    client.listAudit({ limit: last, operation, resource_id: resource }),
  );
  for (const entry of resources) {
    context.output.event({ event: 'change', ...entry });
    context.output.print(auditLine(entry));
  }
}

function auditLine(entry: AuditEntry): string {
  const about = Object.values(entry.resources).join(' ');
  const ended = entry.status === null ? entry.outcome : `${entry.outcome} (${entry.status})`;
  const from = entry.address === null ? '' : ` from ${entry.address}`;
  const changed = entry.changed.length === 0 ? '' : ` [${entry.changed.join(', ')}]`;
  return `${entry.at}  ${entry.key_name}${from}  ${entry.operation} ${about}${changed}  ${ended}`;
}
