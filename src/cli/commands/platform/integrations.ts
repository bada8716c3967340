import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import type { CommandContext } from '../../context.ts';
import { findByName, type PlatformClientOptions, withControlPlane } from './platformClient.ts';

type Integration = Awaited<ReturnType<ControlPlaneClient['listIntegrations']>>[number];

interface IntegrationOptions extends PlatformClientOptions {
  readonly prefix: string;
  readonly credential?: string;
  readonly username?: string;
  readonly webhookSecret?: string;
}

/** `slipway platform integrations add`: registers one, and prints the settings for deployments and the host. */
export async function runAddIntegration(
  context: CommandContext,
  name: string,
  options: IntegrationOptions,
): Promise<number> {
  const { prefix, credential, username, webhookSecret } = options;
  const added = await withControlPlane(context, options, (client) =>
    client.createIntegration({
      name,
      url_prefix: prefix,
      credential,
      username,
      webhook_secret: webhookSecret,
    }),
  );
  show(context, added);
  return 0;
}

export async function runListIntegrations(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<number> {
  const integrations = await withControlPlane(context, options, (client) => client.listIntegrations());
  for (const integration of integrations) show(context, integration);
  if (integrations.length === 0) context.output.print('There are no integrations.');
  return 0;
}

/**
 * `slipway platform integrations remove`: removes one, by name or id.
 * @throws SlipwayError SLIPWAY_USAGE if there is none.
 */
export async function runRemoveIntegration(
  context: CommandContext,
  nameOrId: string,
  options: PlatformClientOptions,
): Promise<number> {
  const { id, name } = await withControlPlane(context, options, async (client) => {
    const found = findByName(await client.listIntegrations(), nameOrId, {
      kind: 'integration',
      nameOf: (each) => each.name,
    });
    await client.deleteIntegration(found.id);
    return found;
  });
  context.output.event({ event: 'removed', id, name });
  context.output.print(`The integration ${name ?? id} is removed.`);
  return 0;
}

function show({ output }: CommandContext, integration: Integration): void {
  const { id, name, url_prefix: prefix, credential, webhook_url: webhook } = integration;
  output.event({ event: 'integration', ...integration });
  output.print(`${name ?? id}  ${prefix ?? ''}`);
  output.print(`  integration_id  ${id}`);
  output.print(`  credential      ${credential ?? 'none'}`);
  if (webhook != null) output.print(`  webhook         ${webhook}`);
}
