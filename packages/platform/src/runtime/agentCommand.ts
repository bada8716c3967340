import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This package's folder. */
const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

/** The command that serves an agent's Run API: this package's built one, with this Node. */
export function agentCommand(agentDir: string, graphConfigPath: string): [string, ...string[]] {
  const main = join(PACKAGE, 'dist/bundle/agentMain.js');
  const config = graphConfigPath === 'graph.json' ? [] : ['--config', graphConfigPath];
  return [process.execPath, main, agentDir, ...config];
}

/** The paths that {@link agentCommand} reads on this machine: this package, and the packages that it resolves. */
export async function placesOfThisPackage(): Promise<string[]> {
  const places = [join(PACKAGE, 'package.json'), join(PACKAGE, 'dist')];
  for (let folder = dirname(join(PACKAGE, 'x')); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (
      await access(modules).then(
        () => true,
        () => false,
      )
    )
      places.push(modules);
    if (folder === dirname(folder)) return places;
  }
}
