import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

import { toError } from '../errors.ts';

/** The engine's compiled code: a `WebAssembly.Module`, for which Node has no types. */
type Engine = object;
declare const WebAssembly: { compile(code: Uint8Array): Promise<Engine> };

interface PglitePlace {
  readonly directory: string;
  readonly password: string;
  /** On loopback; 0 takes a free one. */
  readonly port: number;
}

/** The thread's data; it answers with its port once it serves. */
export type PgliteThreadData = PglitePlace & { readonly engine: Engine };

/** A PGlite that serves in a separate thread. */
export interface PgliteThread {
  readonly port: number;
  /** Resolves when the thread has ended: without an error only after `close`. Never rejects. */
  readonly ended: Promise<Error | undefined>;
  /** Ends its connections, closes the data directory and ends the thread. */
  close(): Promise<void>;
}

/**
 * Starts PGlite in a separate thread, because a query blocks its thread, and the platform's own thread must forward
 * agents' requests meanwhile.
 * @throws the error of the engine or its server.
 */
export async function startPgliteThread(place: PglitePlace): Promise<PgliteThread> {
  const workerData: PgliteThreadData = { ...place, engine: await compiledEngine() };
  const worker = new Worker(entryPoint(), { workerData });
  let failure: Error | undefined;
  let closing = false;
  const ended = new Promise<Error | undefined>((resolve) => {
    worker.once('error', (error) => (failure = toError(error)));
    worker.once('exit', (code) => {
      if (!closing) failure ??= new Error(`The thread of the database exited with ${code}.`);
      resolve(failure);
    });
  });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve);
    void ended.then(reject);
  });
  return {
    port,
    ended,
    close: async () => {
      closing = true;
      worker.postMessage('close');
      const error = await ended;
      if (error !== undefined) throw error;
    },
  };
}

let engine: Engine | undefined;

/** Compiled once per process: the next thread, for example after a crash, reuses V8's optimized code (0.3 s of 0.9). */
async function compiledEngine(): Promise<Engine> {
  const code = new URL('./pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
  engine ??= await WebAssembly.compile(await readFile(code));
  return engine;
}

/** The thread's module. Run from source, a thread does not inherit the TypeScript loader. */
function entryPoint(): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./pgliteWorker.js', import.meta.url);
  const [tsx, module] = [
    import.meta.resolve('tsx/esm/api'),
    new URL('./pgliteWorker.ts', import.meta.url).href,
  ];
  const loader = `import { register } from '${tsx}'; register(); await import('${module}');`;
  return new URL(`data:text/javascript,${encodeURIComponent(loader)}`);
}
