import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { artifactFiles, filesDifference } from '../../src/artifact/artifactFiles.ts';
import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import { packSource } from '../../src/artifact/pack.ts';
import { sourceFiles } from '../../src/artifact/sourceFiles.ts';
import { useFolders, writeFiles } from '../support/temporaryFolder.ts';

const folder = useFolders();

async function stored(files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(folder(), 'source-'));
  await writeFiles(root, files);
  const store = openArtifactStore(join(folder(), 'store'));
  const packed = await packSource({ root, entries: await sourceFiles(root, []) });
  await store.put(packed.file, packed.digest);
  await packed.remove();
  return artifactFiles(await store.open(packed.digest));
}

it('two artifacts are compared file by file', async () => {
  const one = await stored({
    'graph.json': '{}',
    'src/agent.ts': 'a',
    'old.ts': 'x',
    'long.txt': 'l'.repeat(300_000),
  });
  const other = await stored({
    'graph.json': '{}',
    'src/agent.ts': 'bb',
    'src/new.ts': 'n',
    'long.txt': 'l'.repeat(300_000),
  });
  expect([...one.keys()].sort()).toEqual(['graph.json', 'long.txt', 'old.ts', 'src/agent.ts']);
  const { added, removed, changed } = filesDifference(one, other);
  expect(added.map(({ path, sizeBytes }) => [path, sizeBytes])).toEqual([['src/new.ts', 1]]);
  expect(removed.map(({ path }) => path)).toEqual(['old.ts']);
  expect(changed.map(({ from, to }) => [to.path, from.sizeBytes, to.sizeBytes])).toEqual([
    ['src/agent.ts', 1, 2],
  ]);
  expect(filesDifference(one, one)).toEqual({ added: [], removed: [], changed: [] });
});
