import { join } from 'node:path';

import {
  cachedTemporalPath,
  isTemporal,
  TEMPORAL_CLI_VERSION,
  temporalFileName,
  type Program,
  findProgram,
} from './executable.ts';
import { type Found, installOnce, type InstallOptions } from './installOnce.ts';
import { type InstallAttempt, type InstallTask, runToEnd, repeatWhile } from './installTask.ts';
import { downloadWithSdk } from './sdkDownload.ts';

type TemporalExecutable = Found<'path' | 'cache' | 'download' | 'go'>;

/** Finds a `temporal` executable that runs: on the PATH, else in the user's cache directory. Installs nothing. */
export function findTemporal(env: NodeJS.ProcessEnv): Promise<TemporalExecutable | undefined> {
  return findProgram(temporalIn(env), env);
}

function temporalIn(env: NodeJS.ProcessEnv): Program {
  return { fileName: temporalFileName(), destination: cachedTemporalPath(env), runs: isTemporal };
}

/**
 * Finds a `temporal` executable, or installs one into the user's cache directory: with the SDK's own download, else,
 * if Go is installed, with `go install` (about five minutes on two cores).
 * @throws SlipwayError `SLIPWAY_TEMPORAL_NOT_INSTALLED`, which lists each attempt and why it failed.
 * @throws the signal's reason if `signal` is aborted.
 */
export function installTemporal(options: InstallOptions): Promise<TemporalExecutable> {
  const program = temporalIn(options.env ?? process.env);
  return installOnce({ name: 'Temporal', ...program, ways: WAYS, failure: NOT_INSTALLED }, options);
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

/** Builds the `temporal` command from its Go module. Go caches its downloads, so a second try is faster. */
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
        // Its own GOBIN, and none of the flags that the user set for other projects.
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
