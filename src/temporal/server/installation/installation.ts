import { loadClientConfigProfile } from '@temporalio/envconfig';

import {
  cachedTemporalPath,
  isTemporal,
  onPath,
  TEMPORAL_CLI_VERSION,
  temporalFileName,
} from './executable.ts';
import { type Found, installOnce, type InstallOptions } from './installOnce.ts';
import { downloadWithSdk } from './sdkDownload.ts';
import { join } from 'node:path';
import { type InstallAttempt, type InstallTask, runToEnd, repeatWhile } from './installTask.ts';

/** A `temporal` executable that was run once and answered, and where it came from. */
type TemporalExecutable = Found<'path' | 'cache' | 'download' | 'go'>;

/**
 * The address of Temporal that the environment names (`TEMPORAL_ADDRESS`, or a profile of `temporal.toml`), where no
 * executable is needed; `undefined` if it names none.
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
  const found = await onPath(temporalFileName(), env, isTemporal);
  if (found !== undefined) return { path: found, origin: 'path' };
  const cached = cachedTemporalPath(env);
  return (await isTemporal(cached)) ? { path: cached, origin: 'cache' } : undefined;
}

/**
 * Finds a `temporal` executable, or installs one into the user's cache directory: by the SDK's own download of the
 * command, else, where Go is installed, by `go install` (about five minutes on two cores).
 *
 * @throws SlipwayError `SLIPWAY_TEMPORAL_NOT_INSTALLED`, which lists each thing that was tried and why it failed.
 * @throws the signal's reason when `signal` is aborted.
 */
export function installTemporal(options: InstallOptions = {}): Promise<TemporalExecutable> {
  const { env = process.env } = options;
  const destination = cachedTemporalPath(env);
  return installOnce(
    {
      name: 'Temporal',
      destination,
      find: () => findTemporal(env),
      lookedFor: [
        '`temporal` on the PATH: there is none that runs',
        `the cached copy ${destination}: there is none that runs`,
      ],
      ways: WAYS,
      runs: isTemporal,
      failure: NOT_INSTALLED,
    },
    options,
  );
}

const WAYS = [
  {
    origin: 'download',
    name: "the SDK's download of the command",
    install: downloadWithSdk('createLocal', `v${TEMPORAL_CLI_VERSION}`),
  },
  {
    origin: 'go',
    name: `go install github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`,
    install: installWithGo,
  },
] as const;

const NOT_INSTALLED = {
  code: 'SLIPWAY_TEMPORAL_NOT_INSTALLED',
  message: 'Temporal could not be found or installed',
  hint: 'Install the temporal command (https://docs.temporal.io/cli), or Go 1.23 or newer, and try again; or set TEMPORAL_ADDRESS to a running Temporal.',
} as const;

/** Builds the `temporal` command from its Go module. Go keeps what it fetched, so a second try is quicker. */
async function installWithGo(task: InstallTask): Promise<InstallAttempt> {
  const { workspace, onProgress, env, signal } = task;
  const version = await runToEnd({ file: 'go', args: ['version'], env, cwd: workspace });
  if (!version.ok) return { ok: false, reason: `Go is not installed (${version.reason})` };

  let fetched = 0;
  const built = await repeatWhile(
    onProgress,
    () =>
      `building temporal ${TEMPORAL_CLI_VERSION} with Go, ${fetched} modules fetched; about 5 min on 2 cores`,
    () =>
      runToEnd({
        file: 'go',
        args: ['install', `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`],
        // A GOBIN of its own; flags of the user's own projects do not belong to this build.
        env: { ...env, GOBIN: workspace, GOFLAGS: '', GOWORK: 'off' },
        cwd: workspace,
        onLine: (line) => {
          if (line.startsWith('go: downloading')) fetched += 1;
        },
        signal,
      }),
  );
  return built.ok ? { ok: true, path: join(workspace, temporalFileName()) } : built;
}
