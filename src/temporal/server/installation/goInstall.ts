import { join } from 'node:path';

import { runToEnd } from './childCommand.ts';
import { type InstallAttempt, type InstallTask, tellWhile } from './progress.ts';
import { TEMPORAL_CLI_VERSION, temporalFileName } from './temporalCache.ts';

/** Builds the `temporal` command from its Go module. Go keeps what it fetched, so a second try is quicker. */
export async function installWithGo(task: InstallTask): Promise<InstallAttempt> {
  const { workspace, onProgress, env, signal } = task;
  const version = await runToEnd({ file: 'go', args: ['version'], env, cwd: workspace });
  if (!version.ok) return { ok: false, reason: `Go is not installed (${version.reason})` };

  let fetched = 0;
  const built = await tellWhile(
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
