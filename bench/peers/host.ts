// Loads one system and serves the benchmark's calls. Its worker and servers are children of this process.
import type { Peer } from './peer.ts';
import { ready, settingsOf } from './processes.ts';
import { serve } from './remote.ts';
import type { System } from './systems.ts';

const { folder, variant } = settingsOf() as System;
const { createPeer } = (await import(`./${folder}/peer.ts`)) as {
  readonly createPeer: (variant?: string) => Promise<Peer>;
};
serve(await createPeer(variant));
ready();
