import type { ChildProcess } from 'node:child_process';

import type { Order, Outcome, Peer } from '../peer.ts';
import { kill, startScript } from '../processes.ts';
import { remote } from '../remote.ts';
import type { BareScript } from './worker.ts';

/** A script that makes the calls with undici. A kill loses its current work. */
export async function createPeer(): Promise<Peer> {
  let worker: ChildProcess;
  let script: BareScript;
  const startWorker = async (): Promise<void> => {
    worker = await startScript(new URL('./worker.ts', import.meta.url), null);
    script = remote<BareScript>(worker);
  };
  return Promise.resolve({
    start: startWorker,
    release: (order: Order): Promise<Outcome> => script.release(order),
    rollBack: (order: Order) => script.rollBack(order),
    restartWorker: async () => {
      await kill(worker);
      await startWorker();
    },
    workerPid: () => Promise.resolve(worker.pid ?? 0),
    events: () => Promise.resolve(0),
    close: () => kill(worker),
  });
}
