import type { ControlPlaneClient } from '../../../clients/controlPlane.ts';
import type { CommandContext } from '../../context.ts';
import { findByName, type PlatformClientOptions, withControlPlane } from './platformClient.ts';

type Listener = Awaited<ReturnType<ControlPlaneClient['createListener']>>;
type ListenerBody = Parameters<ControlPlaneClient['createListener']>[0];

interface ListenerOptions extends PlatformClientOptions {
  readonly type: ListenerBody['compute_type'];
  /** The namespaces that deployments may name. Default: any. */
  readonly namespace?: readonly string[];
  readonly listenerVersion?: string;
}

/** `slipway platform listeners add`: registers a listener, and prints the settings for deployments. */
export async function runAddListener(
  context: CommandContext,
  computeId: string,
  options: ListenerOptions,
): Promise<number> {
  const { type, namespace, listenerVersion } = options;
  const added = await withControlPlane(context, options, (client) =>
    client.createListener({
      compute_type: type,
      compute_id: computeId,
      compute_config: namespace === undefined ? {} : { cluster_namespaces: [...namespace] },
      version: listenerVersion,
    }),
  );
  show(context, added);
  return 0;
}

/** `slipway platform listeners list`: newest first. */
export async function runListListeners(
  context: CommandContext,
  options: PlatformClientOptions,
): Promise<number> {
  const listeners = await withControlPlane(context, options, allOf);
  for (const listener of listeners) show(context, listener);
  if (listeners.length === 0) context.output.print('There are no listeners.');
  return 0;
}

/**
 * `slipway platform listeners remove`: removes one, by compute id or id.
 * @throws SlipwayError SLIPWAY_USAGE if there is none.
 */
export async function runRemoveListener(
  context: CommandContext,
  computeIdOrId: string,
  options: PlatformClientOptions,
): Promise<number> {
  const { id, compute_id: computeId } = await withControlPlane(context, options, async (client) => {
    const found = findByName(await allOf(client), computeIdOrId, {
      kind: 'listener',
      nameOf: (each) => each.compute_id,
    });
    await client.deleteListener(found.id);
    return found;
  });
  context.output.event({ event: 'removed', id, compute_id: computeId });
  context.output.print(`The listener ${computeId ?? id} is removed.`);
  return 0;
}

async function allOf(client: ControlPlaneClient): Promise<Listener[]> {
  const all: Listener[] = [];
  for await (const listener of client.eachListener()) all.push(listener);
  return all;
}

function show({ output }: CommandContext, listener: Listener): void {
  const { id, compute_id: computeId, compute_type: type, compute_config: config, version } = listener;
  const namespaces = config?.cluster_namespaces ?? [];
  output.event({ event: 'listener', ...listener });
  output.print(`${computeId ?? id}  ${type}`);
  output.print(`  listener_id  ${id}`);
  if (namespaces.length > 0) output.print(`  namespaces   ${namespaces.join(', ')}`);
  if (version != null) output.print(`  version      ${version}`);
}
