import { parentPort, workerData } from 'node:worker_threads';

import { PGlite } from '@electric-sql/pglite';

import { servePglite } from './pgliteServer.ts';
import type { PgliteThreadData } from './pgliteThread.ts';

// What runs in the thread of `pgliteThread.ts`. Whatever is thrown here ends the thread, and the other side is told.
const { directory, password, port, engine } = workerData as PgliteThreadData;
const db = await PGlite.create(directory, {
  pgliteWasmModule: engine,
  // The default of 128 MB is taken at the start, and costs that much memory whatever is in the database.
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'],
});
const server = await servePglite({
  db,
  password,
  port,
  onEngineFailure: (error) => {
    // Out of the connection that met it: the engine's memory is not to be trusted any more.
    queueMicrotask(() => {
      throw error;
    });
  },
});
parentPort?.once('message', () => {
  void server
    .close()
    .then(() => db.close())
    .then(() => parentPort?.close());
});
parentPort?.postMessage(server.port);
