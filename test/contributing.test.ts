import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { proseOf } from './docs/pages.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PLATFORM = 'packages/platform';
const PAGES = ['CONTRIBUTING.md', 'DESIGN.md', 'test/README.md', 'scripts/README.md', 'bench/README.md'];

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => statSync(join(ROOT, folder, name)).isDirectory())
    .filter((name) => readdirSync(join(ROOT, folder, name)).length > 0);
}

/** The paths in the platform's map: a line's depth gives its parent folder. */
function pathsOfPlatform(): readonly string[] {
  const [, map = ''] = /(?<=\n\n)```\n(.*?)^```/ms.exec(read(`${PLATFORM}/README.md`)) ?? [];
  const above: string[] = [];
  return [...map.matchAll(/^( *)(\S+)/gm)].map(([, indent = '', name = '']) => {
    above.length = indent.length / 2;
    above.push(name);
    return above.join('');
  });
}

describe('the maps', () => {
  it('of `src` has exactly its rooms', () => {
    const [, map = ''] = read('CONTRIBUTING.md').split('## The map');
    const rooms = [...map.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    expect(rooms.toSorted()).toEqual(foldersIn('src').toSorted());
  });

  it.each(['workflows', 'activities', 'temporal/client'])('of %s has the nouns of the domain', (room) => {
    expect(foldersIn('src/domain')).toEqual(expect.arrayContaining([...foldersIn(`src/${room}`)]));
  });

  it('of the platform has exactly its rooms', () => {
    const paths = pathsOfPlatform();
    expect(paths.filter((path) => !existsSync(join(ROOT, PLATFORM, path)))).toEqual([]);
    const rooms = ['src', 'src/agentServer'].flatMap((folder) =>
      foldersIn(join(PLATFORM, folder)).map((name) => `${folder}/${name}/`),
    );
    expect(paths).toEqual(expect.arrayContaining(rooms));
  });
});

it.each(PAGES)('%s has no broken links', (page) => {
  const links = [...proseOf(read(page)).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
});

it.each(['.', 'packages/contract', PLATFORM])('every direct dependency of %s has a reason', (folder) => {
  const { dependencies, devDependencies } = JSON.parse(read(`${folder}/package.json`)) as Record<
    'dependencies' | 'devDependencies',
    Readonly<Record<string, string>> | undefined
  >;
  const explained = [...read('docs/dependencies.md').matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(explained).toEqual(expect.arrayContaining(Object.keys({ ...dependencies, ...devDependencies })));
});
