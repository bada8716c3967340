import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/**
 * Builds an earlier commit of this repository, with the dependencies of this one.
 * @param folder - its location.
 * @returns its `bin/slipway.js`.
 */
export async function installCommit(folder: string, commit: string): Promise<string> {
  await mkdir(join(folder, 'node_modules/@slipway'), { recursive: true });
  const archive = join(folder, 'source.tar');
  await run('git', ['archive', '--output', archive, commit], { cwd: ROOT });
  await run('tar', ['--extract', '--file', archive, '--directory', folder]);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== '@slipway')
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  for (const name of ['contract', 'platform']) {
    await symlink(join('../../packages', name), join(folder, 'node_modules/@slipway', name));
  }
  await run(process.execPath, ['scripts/build.mjs', '--no-types'], { cwd: folder });
  return join(folder, 'bin/slipway.js');
}
