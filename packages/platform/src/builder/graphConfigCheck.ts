import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { errorText } from '@slipway/contract/codedError';
import { VOCABULARY } from '@slipway/contract/controlPlane/vocabulary';
import type { GraphConfig } from '@slipway/contract/graphConfig';
import { filesMeantBy, parseGraphConfig, satisfiesNodeVersion } from '../graphConfigText.ts';
import { BuildFailure, quoteName } from './buildFailure.ts';

/** A graph configuration file is read into memory up to this size. */
const MAX_BYTES = 1024 ** 2;

/** Resolves a deployment's `graph_config_path` inside the source. @throws BuildFailure if it is outside. */
export function locateGraphConfig(root: string, graphConfigPath: string): string {
  const file = resolve(root, graphConfigPath);
  if (graphConfigPath.trim() === '' || !isInside(root, file) || file === root) {
    throw new BuildFailure(`graph_config_path ${quoteName(graphConfigPath)} is no file inside the source.`);
  }
  return file;
}

/** The graph configuration file of a source: the named one, else the other vocabulary's if only that exists. */
export async function findGraphConfig(root: string, file: string): Promise<string> {
  const { contract, public: relativeName } = VOCABULARY.graphConfigFile;
  const others: Readonly<Record<string, string>> = { [contract]: relativeName, [relativeName]: contract };
  const name = others[basename(file)];
  if (name === undefined || (await isFileInside(root, file))) return file;
  const other = join(dirname(file), name);
  return (await isFileInside(root, other)) ? other : file;
}

/** The graph configuration, or undefined if the file does not exist. @throws BuildFailure if it is invalid. */
export async function readGraphConfig(root: string, file: string): Promise<GraphConfig | undefined> {
  const name = relative(root, file);
  if (!(await isFileInside(root, file))) return undefined;
  if ((await stat(file)).size > MAX_BYTES) throw new BuildFailure(`${name} is larger than 1 MB.`);
  const text = await readFile(file, 'utf8');
  let config: GraphConfig;
  try {
    config = parseGraphConfig(name, text);
  } catch (error) {
    throw new BuildFailure(`${errorText(error)}.`);
  }
  checkNodeVersion(name, config.node_version);
  return config;
}

/**
 * Checks after the build that the graph configuration exists, and that each file it names exists inside the source.
 * The exports are not checked before the agent starts, because that means running it with its secrets.
 * @throws BuildFailure naming the graph and its file.
 */
export async function checkGraphs(root: string, file: string): Promise<GraphConfig> {
  const name = relative(root, file);
  const config = await readGraphConfig(root, file);
  if (config === undefined) {
    throw new BuildFailure(
      `The source has no ${name}: graph_config_path names the graph configuration file.`,
    );
  }
  for (const [graph, entry] of Object.entries(config.graphs)) {
    const path = entry.path.slice(0, entry.path.lastIndexOf(':'));
    const target = resolve(dirname(file), path);
    if (!isInside(root, target)) {
      throw new BuildFailure(
        `${name} names ${quoteName(path)} for graph ${quoteName(graph)}, outside the source.`,
      );
    }
    const exists = await Promise.all(filesMeantBy(target).map((each) => isFileInside(root, each)));
    if (!exists.includes(true)) {
      throw new BuildFailure(
        `${name} names ${quoteName(entry.path)} for graph ${quoteName(graph)}, and there is no file ${quoteName(relative(root, target))} in the built source.`,
      );
    }
  }
  return config;
}

function checkNodeVersion(name: string, required: string | undefined): void {
  if (required === undefined || satisfiesNodeVersion(required, process.versions.node)) return;
  throw new BuildFailure(
    `${name} asks for Node ${required} or newer (node_version), and this platform runs agents on Node ${process.versions.node}. Start the platform with Node ${required}, or lower node_version.`,
  );
}

/** Whether a file exists and is inside the source. Links may lead elsewhere after commands have run. */
async function isFileInside(root: string, file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile() && isInside(await realpath(root), await realpath(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return false;
    throw error;
  }
}

function isInside(root: string, file: string): boolean {
  return file === root || file.startsWith(root + sep);
}
