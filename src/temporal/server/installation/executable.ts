import { execFile } from 'node:child_process';
import { access, chmod, constants, rename, stat } from 'node:fs/promises';
import { platform, userInfo } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

/** The version that Slipway installs (server 1.29.1). `go install` cannot install newer ones. */
export const TEMPORAL_CLI_VERSION = '1.5.1';

/**
 * Where Slipway keeps the `temporal` executable: in the user's cache directory of each system (`$XDG_CACHE_HOME` or
 * `~/.cache`; `~/Library/Caches` on macOS; `%LOCALAPPDATA%` on Windows).
 */
export function cachedTemporalPath(env: NodeJS.ProcessEnv, system: NodeJS.Platform = platform()): string {
  const place = ['slipway', 'temporal', TEMPORAL_CLI_VERSION, temporalFileName(system)];
  return join(cacheDirectory(env, system), ...place);
}

export function cachedTestServerPath(env: NodeJS.ProcessEnv, version: string): string {
  return join(cacheDirectory(env, platform()), 'slipway', 'test-server', version, testServerFileName());
}

export function temporalFileName(system: NodeJS.Platform = platform()): string {
  return system === 'win32' ? 'temporal.exe' : 'temporal';
}

export function testServerFileName(): string {
  return platform() === 'win32' ? 'temporal-test-server.exe' : 'temporal-test-server';
}

/** Empty and relative variables do not count: they would mean the working folder. */
function cacheDirectory(env: NodeJS.ProcessEnv, system: NodeJS.Platform): string {
  const { XDG_CACHE_HOME: xdg = '', HOME: unix = '', USERPROFILE: windows = '' } = env;
  if (isAbsolute(xdg)) return xdg;
  const home = [unix, windows].find(isAbsolute) ?? userInfo().homedir;
  if (system === 'darwin') return join(home, 'Library', 'Caches');
  if (system === 'win32') return env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  return join(home, '.cache');
}

/** The first run of a 250 MB executable from a cold disk takes seconds. */
const VERSION_TIMEOUT_MS = 30_000;

export interface Program {
  readonly fileName: string;
  readonly destination: string;
  readonly runs: (path: string) => Promise<boolean>;
}

export async function findProgram({ fileName, destination, runs }: Program, env: NodeJS.ProcessEnv) {
  const directories = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((name) => name !== '');
  for (const directory of directories) {
    const path = join(directory, fileName);
    if (await runs(path)) return { path, origin: 'path' } as const;
  }
  return (await runs(destination)) ? ({ path: destination, origin: 'cache' } as const) : undefined;
}

/** Whether a path has a `temporal` executable that runs. An interrupted download leaves one that does not. */
export async function isTemporal(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return stdout.startsWith('temporal version');
  } catch {
    // Whatever the reason, the next place is tried.
    return false;
  }
}

export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Whatever the reason, the next place is tried.
    return false;
  }
}

/** Moves a finished executable into the cache atomically, so that a reader never finds a partial one. */
export async function moveIntoPlace(made: string, destination: string): Promise<void> {
  await chmod(made, 0o755);
  await rename(made, destination);
}
