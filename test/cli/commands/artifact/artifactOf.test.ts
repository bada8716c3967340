import { execFileSync } from 'node:child_process';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { artifactOf, type PreparedArtifact } from '../../../../src/cli/commands/artifact/artifactOf.ts';
import { testOutput } from '../../testOutput.ts';
import { temporaryFolder, useFolders, writeFiles } from '../../../support/temporaryFolder.ts';
import { parseConfig } from '../../../config/parseConfig.ts';

const folder = useFolders();
beforeEach(async () => {
  await writeFile(join(folder(), 'graph.json'), '{}');
});

const TARGET = `targets:
  a:
    controlPlane: http://localhost:1
    apiKey: { from: env:KEY }
    deployment: greeter
`;

function prepared(
  text: string,
  environment: Readonly<Record<string, string>> = {},
  { home = join(folder(), 'home'), project = folder() } = {},
): Promise<PreparedArtifact> {
  const config = parseConfig(text, 'slipway.yaml');
  const context = { output: testOutput(), home, environment };
  return artifactOf({ config, folder: project }, 'a', context, false, new AbortController().signal);
}

describe('the artifact of a target', () => {
  it('is packed and put in the store of the home', async () => {
    const { artifact, entries, recordStore } = await prepared(TARGET);
    expect(recordStore).toBe(pathToFileURL(join(folder(), 'home', 'artifacts')).href);
    expect(entries).toBe(1);
    expect(artifact.kind).toBe('tarball');
    if (artifact.kind !== 'tarball') return;
    expect(await openArtifactStore(artifact.store).has(artifact.digest)).toBe(true);
  });

  it('is packed with a warning if a check asks a graph that the source lacks', async () => {
    await writeFile(join(folder(), 'graph.json'), '{ "graphs": { "greeter": "./agent.ts:graph" } }');
    const config = parseConfig(
      `${TARGET}checks: [{ name: greets, assistant: agent, input: {}, expect: {} }]\n`,
      'slipway.yaml',
    );
    const output = testOutput();
    const context = { output, home: join(folder(), 'home'), environment: {} };
    await artifactOf({ config, folder: folder() }, 'a', context, false, new AbortController().signal);
    expect(output.noted).toEqual(['checks.0.assistant: graph.json has no graph "agent"; there are: greeter']);
  });

  it('goes to the store in the file, relative to the file', async () => {
    const { recordStore } = await prepared(`${TARGET}artifact: { store: ../shared-store }\n`);
    expect(recordStore).toBe(pathToFileURL(join(folder(), '..', 'shared-store')).href);
    await rm(join(folder(), '..', 'shared-store'), { recursive: true });
  });

  it.each(['store: kept', 'store: "a [store]"', 'ignore: ["!home", "!kept"], store: kept'])(
    'is the same after a release, although the home and the store are in the source: %s',
    async (settings) => {
      const text = `${TARGET}artifact: { ${settings} }\n`;
      await writeFiles(folder(), { 'home/api-key': 'secret', 'agent/home/graph.json': '{}' });
      const first = await prepared(text);
      expect(first.entries).toBe(2);
      expect(await prepared(text)).toEqual(first);
    },
  );

  it.each(['the source', 'the home and the store'])(
    'lacks a home and a store in the source, also if a symbolic link leads to %s',
    async (linked) => {
      const link = join(await temporaryFolder(), 'link');
      await symlink(folder(), link);
      const [project, place] = linked === 'the source' ? [link, folder()] : [folder(), link];
      await writeFiles(folder(), { 'home/api-key': 'secret' });
      const environment = { SLIPWAY_ARTIFACT_STORE: join(place, 'kept') };
      const prepare = () => prepared(TARGET, environment, { home: join(place, 'home'), project });
      const first = await prepare();
      expect(first.entries).toBe(1);
      expect(await prepare()).toEqual(first);
    },
  );

  it.each([
    ['the environment’s, where the file names none', '', 's3://of-the-environment/x'],
    [
      'the file’s, whatever the environment says',
      'artifact: { store: s3://of-the-file/x }\n',
      's3://of-the-file/x',
    ],
  ])('is recorded in %s', async (_, inFile, expected) => {
    const environment = { SLIPWAY_ARTIFACT_STORE: 's3://of-the-environment/x' };
    const text = `${TARGET}    source: external_image\n    image: a:1\n${inFile}`;
    const { recordStore } = await prepared(text, environment);
    expect(recordStore).toBe(expected);
  });

  it.each([
    ['source: external_image\n    image: registry/agent:1', { kind: 'image', uri: 'registry/agent:1' }],
    ['source: repo_host\n    repo: { url: https://git, ref: main }', { kind: 'git', ref: 'main' }],
  ])('of %s is only named', async (source, artifact) => {
    expect((await prepared(`${TARGET}    ${source}\n`)).artifact).toEqual(artifact);
  });

  it('is refused while a file of it has an unresolved merge conflict, but not one that is ignored', async () => {
    const git = (input: string, ...args: string[]): string =>
      execFileSync('git', args, { cwd: folder(), input, encoding: 'utf8' }).trim();
    git('', 'init', '--quiet');
    const blob = git('{}', 'hash-object', '-w', '--stdin');
    const ours = (path: string): string => `100644 ${blob} 2\t${path}\n100644 ${blob} 3\t${path}\n`;
    git(ours('graph.json') + ours('notes.md'), 'update-index', '--index-info');
    await writeFile(join(folder(), 'notes.md'), '<<<<<<<');
    const prepare = () => prepared(`${TARGET}artifact: { ignore: [notes.md] }\n`);
    await expect(prepare()).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNMERGED', place: 'graph.json' });
    git(ours(' graph.json'), 'update-index', '--index-info');
    await writeFile(join(folder(), ' graph.json'), '');
    git('', 'add', 'graph.json');
    await expect(prepare()).rejects.toMatchObject({ place: ' graph.json' });
    git('', 'add', ' graph.json');
    await expect(prepare()).resolves.toBeDefined();
  });

  it.each([
    ['a file in a submodule', 'lib', 'a.ts', 'lib/a.ts'],
    ['a file in a repository inside a submodule', 'lib/deep', 'a.ts', 'lib/deep/a.ts'],
    ['the commit of a submodule', '', 'lib', 'lib'],
  ])('is refused while %s has an unresolved merge conflict', async (_, repository, path, place) => {
    const git = (where: string, input: string, ...args: string[]): string =>
      execFileSync('git', args, { cwd: join(folder(), where), input, encoding: 'utf8' }).trim();
    await writeFiles(folder(), { 'lib/a.ts': '', 'lib/deep/a.ts': '' });
    for (const each of ['', 'lib', 'lib/deep']) git(each, '', 'init', '--quiet');
    const blob = git(repository, '{}', 'hash-object', '-w', '--stdin');
    const object = path === 'lib' ? `160000 ${'1'.repeat(40)}` : `100644 ${blob}`;
    const sides = [2, 3].map((side) => `${object} ${side}\t${path}\n`).join('');
    git(repository, sides, 'update-index', '--index-info');
    await expect(prepared(TARGET)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNMERGED', place });
  });
});
