import { type ControlPlaneClient } from '../../clients/controlPlane.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { type CommandContext } from '../context.ts';
import { withRunningPlatform } from './runningPlatform.ts';

type Integration = Awaited<ReturnType<ControlPlaneClient['listIntegrations']>>[number];

/** The options of every `slipway platform integrations …`. */
export interface IntegrationsOptions {
  /** The platform's address; default: see `withRunningPlatform`. */
  readonly url?: string;
}

/** What `slipway platform integrations add` says of the new one. */
export interface IntegrationOptions extends IntegrationsOptions {
  readonly prefix: string;
  readonly credential?: string;
  readonly username?: string;
  readonly webhookSecret?: string;
}

/** `slipway platform integrations add`: registers one, and says what deployments and the host are to be told. */
export async function runAddIntegration(
  context: CommandContext,
  name: string,
  { url, prefix, credential, username, webhookSecret }: IntegrationOptions,
): Promise<number> {
  const added = await withRunningPlatform(context, url, (client) =>
    client.createIntegration({
      name,
      url_prefix: prefix,
      ...(credential === undefined ? {} : { credential }),
      ...(username === undefined ? {} : { username }),
      ...(webhookSecret === undefined ? {} : { webhook_secret: webhookSecret }),
    }),
  );
  show(context, added);
  return 0;
}

/** `slipway platform integrations list`. */
export async function runListIntegrations(
  context: CommandContext,
  { url }: IntegrationsOptions,
): Promise<number> {
  const integrations = await withRunningPlatform(context, url, (client) => client.listIntegrations());
  for (const integration of integrations) show(context, integration);
  if (integrations.length === 0) context.output.say('There are no integrations.');
  return 0;
}

/**
 * `slipway platform integrations remove`: by its name or its id.
 * @throws SlipwayError SLIPWAY_USAGE where there is none.
 */
export async function runRemoveIntegration(
  context: CommandContext,
  nameOrId: string,
  { url }: IntegrationsOptions,
): Promise<number> {
  const { id, name } = await withRunningPlatform(context, url, async (client) => {
    const all = await client.listIntegrations();
    const found = all.find((each) => each.name === nameOrId) ?? all.find((each) => each.id === nameOrId);
    if (found === undefined) {
      throw new SlipwayError('SLIPWAY_USAGE', `there is no integration "${nameOrId}"`, {
        hint: 'slipway platform integrations list shows those there are',
      });
    }
    await client.deleteIntegration(found.id);
    return found;
  });
  context.output.event({ event: 'removed', id, name });
  context.output.say(`The integration ${name ?? id} is removed.`);
  return 0;
}

function show({ output }: CommandContext, integration: Integration): void {
  const { id, name, url_prefix: prefix, credential, webhook_url: webhook } = integration;
  output.event({ event: 'integration', ...integration });
  output.say(`${name ?? id}  ${prefix ?? ''}`);
  output.say(`  integration_id  ${id}`);
  output.say(`  credential      ${credential ?? 'none'}`);
  if (webhook != null) output.say(`  webhook         ${webhook}`);
}
