import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Peer } from './peer.ts';
import { startScript } from './processes.ts';
import { remote } from './remote.ts';
import type { System } from './systems.ts';
import { type SystemUsage, usageOf } from './usage.ts';

/** A system in its own process. */
export interface HostedPeer {
  readonly peer: Peer;
  /** The resources that its worker and its servers have used so far. */
  usage(): Promise<SystemUsage>;
  close(): Promise<void>;
}

/** Starts a system in an empty folder. */
export async function hostPeer(system: System): Promise<HostedPeer> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-peer-'));
  const host = await startScript(new URL('./host.ts', import.meta.url), system);
  const peer = remote<Peer>(host);
  const end = async (): Promise<void> => {
    // It kills its children when it ends.
    const exited = once(host, 'exit');
    host.disconnect();
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await peer.start(folder);
  } catch (error) {
    await peer.close().catch(() => undefined);
    await end();
    throw error;
  }
  return {
    peer,
    usage: async () => usageOf(host.pid ?? 0, await peer.workerPid()),
    close: async () => {
      await peer.close();
      await end();
    },
  };
}
