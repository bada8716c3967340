import { Worker } from 'node:worker_threads';

/**
 * Ends this process if its event loop stands still for `limitMs`: code that never yields blocks every run, request
 * and signal handler, and nothing inside the loop can stop it. The supervisor (the platform) restarts the process,
 * and its runs are claimed as after a crash.
 *
 * A separate thread watches; it writes the reason to stderr and sends SIGKILL. Resolves once it watches.
 */
export async function watchEventLoop(limitMs: number): Promise<void> {
  const heartbeatCounter = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(heartbeatCounter, 0, 1), limitMs / (2 * CHECKS_PER_LIMIT)).unref();
  const watcher = new Worker(WATCHER_SCRIPT, {
    eval: true,
    workerData: { beats: heartbeatCounter, limitMs, checks: CHECKS_PER_LIMIT },
  });
  watcher.unref();
  await new Promise<void>((resolve, reject) => {
    watcher.once('online', resolve);
    watcher.once('error', reject);
  });
}

/** Checks per limit. Checks are counted instead of time, because a machine that slept has not stood still. */
const CHECKS_PER_LIMIT = 5;

/** Plain JavaScript for a thread. It must not depend on the watched loop, so it writes to the file itself. */
const WATCHER_SCRIPT = `
const { writeSync } = require('node:fs');
const { workerData: { beats, limitMs, checks } } = require('node:worker_threads');
let seen = -1;
let still = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still < checks) return;
  try {
    const msg = 'the event loop stood still for ' + limitMs / 1000 + ' s: a graph blocks it, and the process is ended';
    writeSync(2, JSON.stringify({ level: 60, time: new Date().toISOString(), msg }) + '\\n');
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, limitMs / checks);
`;
