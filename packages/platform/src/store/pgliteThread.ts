import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

/** The engine's code, compiled: a `WebAssembly.Module`, of which Node's types know nothing. */
type Engine = object;
declare const WebAssembly: { compile(code: Uint8Array): Promise<Engine> };

/** Where a PGlite serves. */
interface PglitePlace {
  /** The data directory. */
  readonly directory: string;
  readonly password: string;
  /** On loopback; 0 takes a free one. */
  readonly port: number;
}

/** What the thread gets; it answers with its port once it serves. */
export type PgliteThreadData = PglitePlace & { readonly engine: Engine };

/** A PGlite that serves in a thread of its own. */
export interface PgliteThread {
  readonly port: number;
  /** Resolves when the thread has ended: without an error only after `close`. Never rejects. */
  readonly ended: Promise<Error | undefined>;
  /** Says good-bye to its connections, closes the data directory and ends the thread. */
  close(): Promise<void>;
}

/**
 * Starts PGlite in a thread of its own: a query takes the thread that it runs in until it is answered, and the platform's
 * own thread has requests of agents to pass on meanwhile.
 * @throws what the engine or its server said where they do not start.
 */
export async function startPgliteThread(place: PglitePlace): Promise<PgliteThread> {
  const workerData: PgliteThreadData = { ...place, engine: await compiledEngine() };
  const worker = new Worker(entryPoint(), { workerData });
  let failure: Error | undefined;
  let closing = false;
  const ended = new Promise<Error | undefined>((resolve) => {
    worker.once('error', (error) => (failure = error instanceof Error ? error : new Error(String(error))));
    worker.once('exit', (code) => {
      if (!closing) failure ??= new Error(`The thread of the database ended by itself, with ${code}.`);
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

/** Compiled once per process: the next thread, after a crash say, has what V8 has optimized meanwhile (0.3 s of 0.9). */
async function compiledEngine(): Promise<Engine> {
  const code = new URL('./pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
  engine ??= await WebAssembly.compile(await readFile(code));
  return engine;
}

/**
 * The thread's module lies beside this one. Where this one runs from its source, so does that; and as a thread does not
 * take over what makes its process read TypeScript, it is loaded by a line that does.
 */
function entryPoint(): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./pgliteWorker.js', import.meta.url);
  const [tsx, module] = [
    import.meta.resolve('tsx/esm/api'),
    new URL('./pgliteWorker.ts', import.meta.url).href,
  ];
  const loader = `import { register } from '${tsx}'; register(); await import('${module}');`;
  return new URL(`data:text/javascript,${encodeURIComponent(loader)}`);
}
