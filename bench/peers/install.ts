import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Installs the peers' packages below this folder, unless they are there. */
export function installPeers(): void {
  if (existsSync(new URL('node_modules/.package-lock.json', import.meta.url))) return;
  const { status, error, stderr } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm ci failed in ${FOLDER}: ${stderr}`);
}
