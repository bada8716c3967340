import type { ChildProcess } from 'node:child_process';

import { DBOSClient } from '@dbos-inc/dbos-sdk';

import type { Order, Outcome, Peer } from '../peer.ts';
import { kill, startScript } from '../processes.ts';
import { remote } from '../remote.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import type { DbosApplication } from './worker.ts';

/** DBOS on PostgreSQL: workflows run in the application's process, with a row for each step. */
export async function createPeer(): Promise<Peer> {
  let postgres: Postgres;
  let client: DBOSClient | undefined;
  let worker: ChildProcess;
  let application: DbosApplication;
  let restarted: Promise<void> | undefined;
  const startWorker = async (): Promise<void> => {
    worker = await startScript(new URL('./worker.ts', import.meta.url), postgres.url);
    application = remote<DbosApplication>(worker);
  };
  return Promise.resolve({
    start: async (folder: string) => {
      postgres = await startPostgres(folder);
      await startWorker();
    },
    release: async (order: Order): Promise<Outcome> => {
      try {
        return await application.release(order);
      } catch (error) {
        if (String(error).includes('cancelled')) return 'rolled_back';
        if (restarted === undefined) throw error;
        // The caller lost its connection with the worker: it requests the same release from the next one.
        await restarted;
        return application.release(order);
      }
    },
    rollBack: (order: Order) => application.rollBack(order),
    restartWorker: async () => {
      restarted = kill(worker).then(startWorker);
      await restarted;
    },
    workerPid: () => Promise.resolve(worker.pid ?? 0),
    events: async ({ id }: Order) => {
      client ??= await DBOSClient.create({ systemDatabaseUrl: postgres.url });
      const steps = await client.listWorkflowSteps(id);
      // 1: the row of the workflow itself.
      return (steps?.length ?? 0) + 1;
    },
    close: async () => {
      await kill(worker);
      await client?.destroy();
      await postgres.close();
    },
  });
}
