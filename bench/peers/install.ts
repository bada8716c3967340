import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Installs the peers' packages below this folder, unless all of them are there. */
export function installPeers(): void {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(new URL('package.json', import.meta.url), 'utf8'),
  ) as Readonly<Record<'dependencies' | 'devDependencies', object>>;
  const names = Object.keys({ ...dependencies, ...devDependencies });
  if (names.every((name) => existsSync(new URL(`node_modules/${name}`, import.meta.url)))) return;
  const { status, error, stderr } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm ci failed in ${FOLDER}: ${stderr}`);
}
