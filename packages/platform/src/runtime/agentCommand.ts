import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

/** The command that serves an agent's Run API: this package's built one, with this Node. */
export function agentCommand(agentDir: string, graphConfigPath: string): [string, ...string[]] {
  const main = join(PACKAGE, 'dist/bundle/agentMain.js');
  const config = graphConfigPath === 'graph.json' ? [] : ['--config', graphConfigPath];
  return [process.execPath, main, agentDir, ...config];
}

/** The command of the container that shares its network with an image's (`imageDoor.ts`). */
export function doorCommand(folder: string, port: string): [string, ...string[]] {
  return ['node', join(PACKAGE, 'dist/runtime/imageDoor.js'), folder, port];
}

/** The command of the container that runs a command of a build (`containedCommand.ts`). */
export function commandInContainer(folder: string, command: string): [string, ...string[]] {
  return ['node', join(PACKAGE, 'dist/runtime/containedCommand.js'), folder, command];
}

/** The paths that {@link doorCommand} and {@link commandInContainer} read on this machine. */
export function placesOfPrograms(): string[] {
  return [join(PACKAGE, 'package.json'), join(PACKAGE, 'dist')];
}

/** The paths that {@link agentCommand} reads on this machine: this package, and the packages that it resolves. */
export function placesOfThisPackage(): string[] {
  const places = placesOfPrograms();
  for (let folder = dirname(join(PACKAGE, 'x')); ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (existsSync(modules)) places.push(modules);
    if (folder === dirname(folder)) return places;
  }
}
