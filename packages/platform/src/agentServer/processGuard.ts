import { Worker } from 'node:worker_threads';

/** An agent's code called `process.exit`: its run ends with this error, and the server goes on serving the others. */
class ProcessExitRefused extends Error {
  constructor(code: number | string | null | undefined) {
    super(`The graph called process.exit(${code ?? ''}): the server goes on.`);
    this.name = 'ProcessExitRefused';
  }
}

/**
 * Takes `process.exit` away from the agent's code, and gives it to who really ends the process. Decision: an agent's
 * code is trusted, and yet a library that ends the process on an error must not take other people's runs along.
 * `process.kill` and `process.abort` are left alone: after them the platform starts the agent again.
 */
export function keepProcessExit(): (code: number) => never {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    throw new ProcessExitRefused(code);
  };
  return exit;
}

/**
 * Ends this process when its event loop stands still for `limitMs`: code that never yields blocks every run, every
 * request and every signal handler, and nothing inside the loop can stop it. Whoever supervises the process (the
 * platform) starts it again, and its runs are taken up as after a crash.
 *
 * A thread of its own looks; it says why on stderr and sends SIGKILL. Resolves once it looks.
 */
export async function watchEventLoop(limitMs: number): Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(beats, 0, 1), limitMs / (2 * LOOKS)).unref();
  const watcher = new Worker(WATCHER, { eval: true, workerData: { beats, limitMs, looks: LOOKS } });
  watcher.unref();
  await new Promise<void>((resolve, reject) => {
    watcher.once('online', resolve);
    watcher.once('error', reject);
  });
}

/** How often within the limit it is looked. Looks are counted, not time: a machine that slept has not stood still. */
const LOOKS = 5;

/** Plain JavaScript for a thread: it must not depend on the loop that it watches, so it writes to the file itself. */
const WATCHER = `
const { writeSync } = require('node:fs');
const { workerData: { beats, limitMs, looks } } = require('node:worker_threads');
let seen = -1;
let still = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still < looks) return;
  try {
    const msg = 'the event loop stood still for ' + limitMs / 1000 + ' s: a graph blocks it, and the process is ended';
    writeSync(2, JSON.stringify({ level: 60, time: new Date().toISOString(), msg }) + '\\n');
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, limitMs / looks);
`;
