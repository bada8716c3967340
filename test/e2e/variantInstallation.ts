import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A piece of workflow code in the bundle, and its replacement. */
export interface Change {
  readonly from: string;
  readonly to: string;
}

/**
 * Creates another version of Slipway: this build with changed workflow code.
 * @param folder - its location.
 * @returns its `bin/slipway.js`.
 */
export async function installVariant(folder: string, changes: readonly Change[]): Promise<string> {
  await mkdir(folder);
  for (const part of ['bin', 'dist', 'package.json']) {
    await cp(join(ROOT, part), join(folder, part), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const bundle = join(folder, 'dist/workflow-bundle.cjs');
  let code = await readFile(bundle, 'utf8');
  for (const { from, to } of changes) {
    if (!code.includes(from)) throw new Error(`the workflow bundle does not have: ${from}`);
    code = code.replaceAll(from, to);
  }
  await writeFile(bundle, code);
  const id = createHash('sha256').update(code).digest('hex').slice(0, 12);
  await writeFile(join(folder, 'dist/build.json'), JSON.stringify({ commit: null, bundle: id }));
  return join(folder, 'bin/slipway.js');
}
