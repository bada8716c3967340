import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { requireFile } from '../../../config/requireFile.ts';
import { isRecord, parsedJson } from '../../../domain/scalars.ts';
import type { Git } from '../../provenance.ts';

export const CI_KINDS = ['github', 'gitlab', 'none'] as const;
export type CiKind = (typeof CI_KINDS)[number];

export interface RepositoryFacts {
  /** The graph configuration, relative to the folder; `undefined`: none. */
  readonly graphConfig: string | undefined;
  readonly graphs: readonly string[];
  /** According to its lock file; `undefined`: none. */
  readonly packageManager: string | undefined;
  /** The remote's host, if it determines the CI system. */
  readonly host: 'github' | 'gitlab' | undefined;
  /** A name for the deployment: from the remote, the package, or the folder. */
  readonly name: string;
}

const GRAPH_CONFIGS = ['graph.json', 'langgraph.json'];

const LOCK_FILES: readonly (readonly [file: string, packageManager: string])[] = [
  ['package-lock.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** Inspects the repository in a folder. Changes nothing; a missing fact is no error. */
export async function repositoryFacts(folder: string, git: Git): Promise<RepositoryFacts> {
  const isThere = (file: string): boolean => existsSync(join(folder, file));
  const graphConfig = GRAPH_CONFIGS.find(isThere);
  const remote = await git('remote', 'get-url', 'origin');
  const manifest = await jsonOf(join(folder, 'package.json'));
  const named = remoteName(remote) ?? (typeof manifest['name'] === 'string' ? manifest['name'] : undefined);
  return {
    graphConfig,
    graphs: graphConfig === undefined ? [] : await graphNames(join(folder, graphConfig)),
    packageManager: LOCK_FILES.find(([file]) => isThere(file))?.[1],
    host: hostOf(remote),
    name: deploymentName(named ?? basename(folder)),
  };
}

/** A name that every control plane accepts: lower-case letters, digits and dashes. */
export function deploymentName(text: string): string {
  const name = text
    .replace(/^@[^/]*\//, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'agent' : name;
}

function remoteName(remote: string | undefined): string | undefined {
  return remote === undefined ? undefined : /([^/:]+?)(?:\.git)?\/?$/.exec(remote)?.[1];
}

function hostOf(remote: string | undefined): RepositoryFacts['host'] {
  const [host] = /(?:github|gitlab)(?=[.:/])/.exec(remote ?? '') ?? [];
  return host === 'github' || host === 'gitlab' ? host : undefined;
}

async function graphNames(file: string): Promise<readonly string[]> {
  const { graphs } = await jsonOf(file);
  return isRecord(graphs) ? Object.keys(graphs) : [];
}

/** A JSON object; empty if the file is missing or invalid. `init` asks for what is missing, and later commands report it. */
async function jsonOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  const read = requireFile(file).then(() => readFile(file, 'utf8'));
  const value = parsedJson(await read.catch(() => ''));
  return isRecord(value) ? value : {};
}
