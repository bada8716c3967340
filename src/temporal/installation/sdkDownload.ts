import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { runToEnd } from './childCommand.ts';
import { type InstallAttempt, type InstallTask, tellWhile } from './progress.ts';
import { TEMPORAL_CLI_VERSION } from './temporalCache.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * The SDK downloads the command as a part of starting a development server. In a process of its own, because the
 * SDK's native code cannot be told to stop.
 */
const PROGRAM = `
const { TestWorkflowEnvironment } = (await import(process.argv[1])).default;
const [, , downloadDir, version] = process.argv;
try {
  const executable = { type: 'cached-download', downloadDir, version };
  const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
  await environment.teardown();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
`;

/** Lets the SDK download the `temporal` command. Given up when not a single byte comes for `stallMs`. */
export async function downloadWithSdk(task: InstallTask): Promise<InstallAttempt> {
  const { workspace, onProgress, env, stallMs, signal } = task;
  const stalled = new AbortController();
  const watch = watchGrowth(workspace, stallMs, () => stalled.abort());
  try {
    const downloaded = await tellWhile(
      onProgress,
      () => `downloading temporal ${TEMPORAL_CLI_VERSION}, ${Math.round(watch.bytes() / 1e6)} MB so far`,
      () =>
        runToEnd({
          file: process.execPath,
          args: [
            '--input-type=module',
            '--eval',
            PROGRAM,
            import.meta.resolve('@temporalio/testing'),
            workspace,
            `v${TEMPORAL_CLI_VERSION}`,
          ],
          env,
          cwd: workspace,
          signal: signal === undefined ? stalled.signal : AbortSignal.any([signal, stalled.signal]),
        }),
    );
    if (stalled.signal.aborted)
      return { ok: false, reason: `nothing came for ${Math.round(stallMs / 1_000)} s` };
    if (!downloaded.ok) return downloaded;
  } finally {
    watch.end();
  }
  const [name] = (await readdir(workspace)).filter((file) => file.startsWith('temporal'));
  return name === undefined
    ? { ok: false, reason: 'the SDK left no executable behind' }
    : { ok: true, path: join(workspace, name) };
}

/** Follows how the files of a directory grow, and says so when they do not for too long. */
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

/** The size of a directory's files in bytes; 0 for what is renamed away at that moment. */
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
