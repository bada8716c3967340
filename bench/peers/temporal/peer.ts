import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

import { installTemporal } from '../../../src/temporal/server/installation/installation.ts';
import { bundleSources } from '../../../test/support/fromSource.ts';
import type { Order, Outcome, Peer } from '../peer.ts';
import { freePorts, kill, startScript, startServer } from '../processes.ts';
import type { Variant } from './variant.ts';
import type { TemporalWorkerSettings } from './worker.ts';
import { release, rollbackSignal } from './workflows.ts';

const TUNING = [
  ...['--sqlite-pragma', 'journal_mode=wal'],
  ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
  ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=1000'],
];

/** Temporal used in the usual way: a workflow for each release, an activity for each step. */
export async function createPeer(variant: Variant): Promise<Peer> {
  let server: ChildProcess;
  let client: Client;
  let settings: TemporalWorkerSettings;
  let worker: ChildProcess;
  const startWorker = async (): Promise<void> => {
    worker = await startScript(new URL('./worker.ts', import.meta.url), settings);
  };
  return Promise.resolve({
    start: async (folder: string) => {
      const { path } = await installTemporal({ onProgress: () => undefined });
      const [port = 0] = await freePorts(1);
      const address = `127.0.0.1:${port}`;
      const args = ['server', 'start-dev', '--headless', '--port', String(port), '--log-level', 'error'];
      args.push('--db-filename', join(folder, 'temporal.db'), ...(variant === 'plain' ? [] : TUNING));
      server = await startServer(path, args, async () => {
        client = await connect(address);
      });
      settings = { address, ...(variant === 'plain' ? {} : { bundlePath: await bundle(folder) }) };
      await startWorker();
    },
    release: (order: Order): Promise<Outcome> =>
      client.workflow.execute(release, {
        workflowId: order.id,
        taskQueue: 'releases',
        args: [order, variant],
      }),
    rollBack: (order: Order) => client.workflow.getHandle(order.id).signal(rollbackSignal),
    restartWorker: async () => {
      await kill(worker);
      await startWorker();
    },
    workerPid: () => Promise.resolve(worker.pid ?? 0),
    events: async (order: Order) => (await client.workflow.getHandle(order.id).describe()).historyLength,
    close: async () => {
      await kill(worker);
      await client.connection.close();
      await kill(server);
    },
  });
}

/** Connects once the server answers for its namespace. */
async function connect(address: string): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: '2 seconds' });
  await connection.workflowService.describeNamespace({ namespace: 'default' });
  return new Client({ connection });
}

async function bundle(folder: string): Promise<string> {
  const path = join(folder, 'bundle.cjs');
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
    webpackConfigHook: bundleSources,
  });
  await writeFile(path, code);
  return path;
}
