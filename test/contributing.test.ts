import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
const PLATFORM = 'packages/platform/';

/** The paths that the map names: a line's depth says what it lies in. */
function pathsOfMap(page = text): string[] {
  const [, map = ''] = /(?<=\n\n)```\n(.*?)^```/ms.exec(page) ?? [];
  const above: string[] = [];
  return map
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? [];
      above.length = indent.length / 2;
      above.push(name);
      return above.join('');
    });
}

function foldersIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .map((name) => join(folder, name))
    .filter((path) => statSync(join(root, path)).isDirectory())
    .filter((path) => readdirSync(join(root, path)).length > 0)
    .map((path) => `${path}/`);
}

describe('the map of the rooms', () => {
  const paths = pathsOfMap();

  it('names only what is there', () => {
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('names every room, and every file of the workflows', () => {
    const workflows = readdirSync(join(root, 'src/workflows')).map((name) => `src/workflows/${name}`);
    const rooms = ['src', 'packages', 'packages/contract/src'].flatMap(foldersIn);
    expect(paths).toEqual(expect.arrayContaining([...rooms, ...workflows]));
  });
});

describe('the map of the platform', () => {
  const paths = pathsOfMap(readFileSync(join(root, PLATFORM, 'README.md'), 'utf8'));

  it('names only what is there', () => {
    expect(paths.filter((path) => !existsSync(join(root, PLATFORM, path)))).toEqual([]);
  });

  it('names every room', () => {
    const rooms = ['src', 'src/agentServer'].flatMap((folder) => foldersIn(join(PLATFORM, folder)));
    expect(paths.map((path) => join(PLATFORM, path))).toEqual(expect.arrayContaining(rooms));
  });
});

it.each(['', 'packages/contract', PLATFORM])('every direct dependency of %j has its reason', (folder) => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  ) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies?: Readonly<Record<string, string>>;
  };
  const [, table = ''] = /^## Direct dependencies, and why\n(.*)/ms.exec(text) ?? [];
  const temporal = [...table.matchAll(/`(worker|workflow|activity|common)`/g)].map(
    ([, name]) => `@temporalio/${name ?? ''}`,
  );
  const told = [...[...table.matchAll(/`([^`]+)`/g)].map(([, name]) => name), ...temporal];
  expect(told).toEqual(expect.arrayContaining(Object.keys({ ...dependencies, ...devDependencies })));
});
