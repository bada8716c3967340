import { parentPort, workerData } from 'node:worker_threads';

import { PGlite } from '@electric-sql/pglite';

import { servePglite } from './pgliteServer.ts';
import type { PgliteThreadData } from './pgliteThread.ts';

// The code of the thread in `pgliteThread.ts`. An error here ends the thread and is reported to the other side.
const { directory, password, port, engine } = workerData as PgliteThreadData;
const db = await PGlite.create(directory, {
  pgliteWasmModule: engine,
  // The default of 128 MB is allocated at the start, whatever is in the database.
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'],
});
const server = await servePglite({
  db,
  password,
  port,
  onEngineFailure: (error) => {
    // Throw outside of the connection's code, to end the thread: the engine's memory is not reliable any more.
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
