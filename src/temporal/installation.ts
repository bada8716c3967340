import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { loadClientConfigProfile } from '@temporalio/envconfig';

import { SlipwayError } from '../domain/errors.ts';
import { isTemporal, moveIntoPlace, temporalOnPath } from './installation/executable.ts';
import { installWithGo } from './installation/goInstall.ts';
import { withInstallLock } from './installation/installLock.ts';
import { type Progress } from './installation/progress.ts';
import { downloadWithSdk } from './installation/sdkDownload.ts';
import { cachedTemporalPath, TEMPORAL_CLI_VERSION } from './installation/temporalCache.ts';

/** Where a `temporal` executable came from. */
export type TemporalOrigin = 'path' | 'cache' | 'download' | 'go';

/** A `temporal` executable that was run once and answered. */
export interface TemporalExecutable {
  readonly path: string;
  readonly origin: TemporalOrigin;
}

/** How an installation is followed and ended. */
export interface InstallOptions {
  /** One line of progress, without a line end; at least every 15 s while something takes long. */
  readonly onProgress?: Progress;
  readonly signal?: AbortSignal;
  /** Default: the process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** How long the SDK's download may go without a single byte, in milliseconds. Default: 20 s. */
  readonly downloadStallMs?: number;
}

/**
 * The address of Temporal that the environment names (`TEMPORAL_ADDRESS`, or a profile of `temporal.toml`), where no
 * executable is needed; `undefined` where it names none.
 *
 * @throws Error when the profile that is named does not exist, or its file cannot be read.
 */
export function configuredTemporalAddress(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return loadClientConfigProfile({ overrideEnvVars }).address;
}

/**
 * Finds a `temporal` executable that runs, without installing one: on the PATH, else in the user's cache directory.
 *
 * @param env - default: the process's environment.
 */
export async function findTemporal(
  env: NodeJS.ProcessEnv = process.env,
): Promise<TemporalExecutable | undefined> {
  const onPath = await temporalOnPath(env);
  if (onPath !== undefined) return { path: onPath, origin: 'path' };
  const cached = cachedTemporalPath(env);
  return (await isTemporal(cached)) ? { path: cached, origin: 'cache' } : undefined;
}

/**
 * Finds a `temporal` executable, or installs one into the user's cache directory: by the SDK's own download of the
 * command, else, where Go is installed, by `go install` (about five minutes on two cores). Two installations at once
 * do not disturb each other: the second waits for the first and takes what it left.
 *
 * @throws SlipwayError `SLIPWAY_TEMPORAL_NOT_INSTALLED`, which lists each thing that was tried and why it failed.
 * @throws the signal's reason when `signal` is aborted.
 */
export async function installTemporal(options: InstallOptions = {}): Promise<TemporalExecutable> {
  const { onProgress = () => undefined, signal, env = process.env } = options;
  const found = await findTemporal(env);
  if (found !== undefined) return found;
  const destination = cachedTemporalPath(env);
  const cacheDirectory = dirname(destination);
  await createCache(cacheDirectory);
  const locking = { directory: cacheDirectory, onProgress, ...(signal === undefined ? {} : { signal }) };
  return withInstallLock(locking, async () => {
    const meanwhile = await findTemporal(env);
    if (meanwhile !== undefined) return meanwhile;
    await removeAbandoned(cacheDirectory);
    // Beside the cache, so that moving the finished executable into it is one rename on one file system.
    const workspace = await mkdtemp(join(cacheDirectory, WORKSPACE_PREFIX));
    try {
      return await tryEach(workspace, destination, options);
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  });
}

const WORKSPACE_PREFIX = 'installing-';
/** What has not changed for this long was left behind by an installation that was killed. */
const ABANDONED_AFTER_MS = 60 * 60_000;

async function removeAbandoned(cacheDirectory: string): Promise<void> {
  for (const name of await readdir(cacheDirectory)) {
    const path = join(cacheDirectory, name);
    if (!name.startsWith(WORKSPACE_PREFIX)) continue;
    if (Date.now() - (await stat(path)).mtimeMs > ABANDONED_AFTER_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

const WAYS = [
  { origin: 'download', name: "the SDK's download of the command", install: downloadWithSdk },
  {
    origin: 'go',
    name: `go install github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`,
    install: installWithGo,
  },
] as const;

async function tryEach(
  workspace: string,
  destination: string,
  options: InstallOptions,
): Promise<TemporalExecutable> {
  const { onProgress = () => undefined, signal, env = process.env, downloadStallMs = 20_000 } = options;
  const tried = [
    '`temporal` on the PATH: there is none that runs',
    `the cached copy ${destination}: there is none that runs`,
  ];
  for (const { origin, name, install } of WAYS) {
    signal?.throwIfAborted();
    onProgress(`installing Temporal by ${name}`);
    const made = await install({
      workspace,
      onProgress,
      env,
      stallMs: downloadStallMs,
      ...(signal === undefined ? {} : { signal }),
    });
    signal?.throwIfAborted();
    if (!made.ok) {
      tried.push(`${name}: ${made.reason}`);
      onProgress(`that did not work: ${made.reason}`);
    } else if (await isTemporal(made.path)) {
      await moveIntoPlace(made.path, destination);
      return { path: destination, origin };
    } else {
      tried.push(`${name}: what it made does not run (\`temporal --version\`)`);
    }
  }
  throw notInstalled(tried);
}

async function createCache(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw notInstalled([`the cache directory ${directory} cannot be written: ${why}`], cause);
  }
}

function notInstalled(tried: readonly string[], cause?: unknown): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_TEMPORAL_NOT_INSTALLED',
    `Temporal could not be found or installed. Tried:\n${tried.map((line) => `  - ${line}`).join('\n')}`,
    {
      hint: 'Install the temporal command (https://docs.temporal.io/cli), or Go 1.23 or newer, and try again; or set TEMPORAL_ADDRESS to a running Temporal.',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
