import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { type PlatformClientOptions, withControlPlane } from './platformClient.ts';

type Integration = Awaited<ReturnType<ControlPlaneClient['listIntegrations']>>[number];

interface IntegrationOptions extends PlatformClientOptions {
  readonly prefix: string;
  readonly credential?: string;
  readonly username?: string;
  readonly webhookSecret?: string;
}

/** `slipway platform integrations add`: registers one, and prints the settings for deployments and the host. */
export async function runIntegrationsAddCommand(
  context: CommandContext,
  name: string,
  options: IntegrationOptions,
): Promise<void> {
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
  showIntegration(context, added);
}

export async function runIntegrationsListCommand(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<void> {
  const integrations = await withControlPlane(context, options, (client) => client.listIntegrations());
  for (const integration of integrations) showIntegration(context, integration);
  if (integrations.length === 0) context.output.print('There are no integrations.');
}

/**
 * `slipway platform integrations remove`: removes one, by name or id.
 * @throws SlipwayError SLIPWAY_USAGE if there is none.
 */
export async function runIntegrationsRemoveCommand(
  context: CommandContext,
  nameOrId: string,
  options: PlatformClientOptions,
): Promise<void> {
  const { id, name } = await withControlPlane(context, options, async (client) => {
    const found = findByName('integration', await client.listIntegrations(), nameOrId, ({ name }) => name);
    await client.deleteIntegration(found.id);
    return found;
  });
  context.output.event({ event: 'removed', id, name });
  context.output.print(`The integration ${name ?? id} is removed.`);
}

function showIntegration({ output }: CommandContext, integration: Integration): void {
  const { id, name, url_prefix: prefix, credential, webhook_url: webhook } = integration;
  output.event({ event: 'integration', ...integration });
  output.print(`${name ?? id}  ${prefix ?? ''}`);
  output.print(`  integration_id  ${id}`);
  output.print(`  credential      ${credential ?? 'none'}`);
  if (webhook != null) output.print(`  webhook         ${webhook}`);
}

type Listener = Awaited<ReturnType<ControlPlaneClient['createListener']>>;
type ListenerBody = Parameters<ControlPlaneClient['createListener']>[0];

interface ListenerOptions extends PlatformClientOptions {
  readonly type: ListenerBody['compute_type'];
  /** The namespaces that deployments may name. Default: any. */
  readonly namespace?: readonly string[];
  readonly listenerVersion?: string;
}

/** `slipway platform listeners add`: registers a listener, and prints the settings for deployments. */
export async function runListenersAddCommand(
  context: CommandContext,
  computeId: string,
  options: ListenerOptions,
): Promise<void> {
  const { type, namespace, listenerVersion } = options;
  const added = await withControlPlane(context, options, (client) =>
    client.createListener({
      compute_type: type,
      compute_id: computeId,
      compute_config: namespace === undefined ? {} : { cluster_namespaces: [...namespace] },
      version: listenerVersion,
    }),
  );
  showListener(context, added);
}

/** `slipway platform listeners list`: newest first. */
export async function runListenersListCommand(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<void> {
  const listeners = await withControlPlane(context, options, allOf);
  for (const listener of listeners) showListener(context, listener);
  if (listeners.length === 0) context.output.print('There are no listeners.');
}

/**
 * `slipway platform listeners remove`: removes one, by compute id or id.
 * @throws SlipwayError SLIPWAY_USAGE if there is none.
 */
export async function runListenersRemoveCommand(
  context: CommandContext,
  computeIdOrId: string,
  options: PlatformClientOptions,
): Promise<void> {
  const { id, compute_id: computeId } = await withControlPlane(context, options, async (client) => {
    const found = findByName('listener', await allOf(client), computeIdOrId, (each) => each.compute_id);
    await client.deleteListener(found.id);
    return found;
  });
  context.output.event({ event: 'removed', id, compute_id: computeId });
  context.output.print(`The listener ${computeId ?? id} is removed.`);
}

async function allOf(client: ControlPlaneClient): Promise<Listener[]> {
  const all: Listener[] = [];
  for await (const listener of client.eachListener()) all.push(listener);
  return all;
}

function findByName<T extends { readonly id: string }>(
  kind: 'integration' | 'listener',
  all: readonly T[],
  nameOrId: string,
  nameOf: (each: T) => string | null | undefined,
): T {
  const found = all.find((each) => nameOf(each) === nameOrId) ?? all.find(({ id }) => id === nameOrId);
  if (found !== undefined) return found;
  const hint = `list them: slipway platform ${kind}s list`;
  throw new SlipwayError('SLIPWAY_USAGE', `there is no ${kind} "${nameOrId}"`, { hint });
}

function showListener({ output }: CommandContext, listener: Listener): void {
  const { id, compute_id: computeId, compute_type: type, compute_config: config, version } = listener;
  const namespaces = config?.cluster_namespaces ?? [];
  output.event({ event: 'listener', ...listener });
  output.print(`${computeId ?? id}  ${type}`);
  output.print(`  listener_id  ${id}`);
  if (namespaces.length > 0) output.print(`  namespaces   ${namespaces.join(', ')}`);
  if (version != null) output.print(`  version      ${version}`);
}
