import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { type InstallAttempt, type InstallTask, runToEnd, repeatWhile } from './installTask.ts';

const LOOK_EVERY_MS = 1_000;

/** Downloads a server by starting it, in its own process: the SDK's native code cannot be canceled. */
const PROGRAM = `
const { TestWorkflowEnvironment } = (await import(process.argv[1])).default;
const [, , start, downloadDir, version] = process.argv;
try {
  const executable = { type: 'cached-download', downloadDir, version };
  const environment = await TestWorkflowEnvironment[start]({ server: { executable } });
  await environment.teardown();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
`;

/**
 * Downloads a server through the SDK: the `temporal` command (`createLocal`), or the time-skipping test server. Gives
 * up if nothing is received for `stallMs`.
 * @param version - as the SDK names it: `v1.5.1`, or `default` for the version that belongs to the SDK.
 */
export function downloadWithSdk(
  start: 'createLocal' | 'createTimeSkipping',
  version: string,
): (task: InstallTask) => Promise<InstallAttempt> {
  return (task) => download(task, start, version);
}

async function download(task: InstallTask, start: string, version: string): Promise<InstallAttempt> {
  const { workspace, onProgress, env, stallMs, signal } = task;
  const stalled = new AbortController();
  const watch = watchGrowth(workspace, stallMs, () => stalled.abort());
  try {
    const downloaded = await repeatWhile(
      onProgress,
      () => `downloading with the SDK, ${Math.round(watch.bytes() / 1e6)} MB so far`,
      () =>
        runToEnd({
          file: process.execPath,
          args: [
            '--input-type=module',
            '--eval',
            PROGRAM,
            import.meta.resolve('@temporalio/testing'),
            start,
            workspace,
            version,
          ],
          env,
          cwd: workspace,
          signal: signal === undefined ? stalled.signal : AbortSignal.any([signal, stalled.signal]),
        }),
    );
    if (stalled.signal.aborted) return { ok: false, reason: `no data for ${Math.round(stallMs / 1_000)} s` };
    if (!downloaded.ok) return downloaded;
  } finally {
    watch.end();
  }
  const [name] = (await readdir(workspace)).filter((file) => file.startsWith('temporal'));
  return name === undefined
    ? { ok: false, reason: 'the SDK left no executable behind' }
    : { ok: true, path: join(workspace, name) };
}

/** Watches the total size of a directory's files, and calls back if it has not grown for too long. */
function watchGrowth(
  directory: string,
  stallMs: number,
  onStall: () => void,
): { readonly bytes: () => number; readonly end: () => void } {
  let bytes = 0;
  let grewAt = Date.now();
  const timer = setInterval(() => {
    void sizeOf(directory).then((size) => {
      if (size > bytes) {
        bytes = size;
        grewAt = Date.now();
      } else if (Date.now() - grewAt > stallMs) onStall();
    });
  }, LOOK_EVERY_MS);
  return { bytes: () => bytes, end: () => clearInterval(timer) };
}

async function sizeOf(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
