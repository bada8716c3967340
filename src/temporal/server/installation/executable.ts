import { execFile } from 'node:child_process';
import { access, chmod, constants, rename, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** The first run of a 250 MB executable from a cold disk takes seconds. */
const VERSION_TIMEOUT_MS = 30_000;

/** The first file of a name on the PATH that runs. */
export async function onPath(
  fileName: string,
  env: NodeJS.ProcessEnv,
  runs: (path: string) => Promise<boolean>,
): Promise<string | undefined> {
  const directories = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((name) => name !== '');
  for (const directory of directories) {
    const candidate = join(directory, fileName);
    if (await runs(candidate)) return candidate;
  }
  return undefined;
}

/** Whether there is a `temporal` executable at a path, and it runs: a download that broke off leaves one that does not. */
export async function isTemporal(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return stdout.startsWith('temporal version');
  } catch {
    // Whatever keeps it from running, the next place is looked at.
    return false;
  }
}

/** Whether there is a file at a path that may be executed. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Whatever keeps it from being one, the next place is looked at.
    return false;
  }
}

/** Moves a finished executable into the cache in one step: whoever looks there finds a whole one or none. */
export async function moveIntoPlace(made: string, destination: string): Promise<void> {
  await chmod(made, 0o755);
  await rename(made, destination);
}
