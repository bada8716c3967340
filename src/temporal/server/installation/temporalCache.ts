import { homedir, platform } from 'node:os';
import { join } from 'node:path';

/**
 * The version of the `temporal` command that Slipway installs (server 1.29.1). Newer ones cannot be installed with
 * `go install`: their module replaces a dependency.
 */
export const TEMPORAL_CLI_VERSION = '1.5.1';

/**
 * Where Slipway keeps the `temporal` executable: under the user's cache directory, as each system has it
 * (`$XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches` on macOS; `%LOCALAPPDATA%` on Windows).
 */
export function cachedTemporalPath(env: NodeJS.ProcessEnv, system: NodeJS.Platform = platform()): string {
  return join(
    cacheDirectory(env, system),
    'slipway',
    'temporal',
    TEMPORAL_CLI_VERSION,
    temporalFileName(system),
  );
}

/** Where Slipway keeps a version of the time-skipping test server, likewise. */
export function cachedTestServerPath(env: NodeJS.ProcessEnv, version: string): string {
  return join(cacheDirectory(env, platform()), 'slipway', 'test-server', version, testServerFileName());
}

/** The executable's file name. */
export function temporalFileName(system: NodeJS.Platform = platform()): string {
  return system === 'win32' ? 'temporal.exe' : 'temporal';
}

/** The test server's file name. */
export function testServerFileName(): string {
  return platform() === 'win32' ? 'temporal-test-server.exe' : 'temporal-test-server';
}

function cacheDirectory(env: NodeJS.ProcessEnv, system: NodeJS.Platform): string {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir();
  const xdg = env['XDG_CACHE_HOME'];
  if (xdg !== undefined && xdg !== '') return xdg;
  if (system === 'darwin') return join(home, 'Library', 'Caches');
  if (system === 'win32') return env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  return join(home, '.cache');
}
