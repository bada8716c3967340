import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { artifactOf } from '../../../../src/cli/commands/artifact/artifactOf.ts';
import { parseConfig } from '../../../../src/config/loadConfig.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, 'graph.json'), '{}');
});

const TARGET = `targets:
  a:
    controlPlane: http://localhost:1
    apiKey: { from: env:KEY }
    deployment: greeter
`;
const never = new AbortController().signal;

describe('the artifact of a target', () => {
  it('is packed and put in the store of the home', async () => {
    const home = join(folder, 'home');
    const config = parseConfig(TARGET, 'slipway.yaml');
    const prepared = await artifactOf({ config, folder }, 'a', { home, environment: {} }, never);
    expect(prepared.recordStore).toBe(pathToFileURL(join(home, 'artifacts')).href);
    expect(prepared.entries).toBe(1);
    const { artifact } = prepared;
    expect(artifact.kind).toBe('tarball');
    if (artifact.kind !== 'tarball') return;
    expect(await openArtifactStore(artifact.store).has(artifact.digest)).toBe(true);
  });

  it('goes to the store in the file, relative to the file', async () => {
    const config = parseConfig(`${TARGET}artifact: { store: ../shared-store }\n`, 'slipway.yaml');
    const { recordStore } = await artifactOf(
      { config, folder },
      'a',
      { home: join(folder, 'home'), environment: {} },
      never,
    );
    expect(recordStore).toBe(pathToFileURL(join(folder, '..', 'shared-store')).href);
    await rm(join(folder, '..', 'shared-store'), { recursive: true });
  });

  it.each([
    ['the environment’s, where the file names none', '', 's3://of-the-environment/x'],
    [
      'the file’s, whatever the environment says',
      'artifact: { store: s3://of-the-file/x }\n',
      's3://of-the-file/x',
    ],
  ])('is recorded in %s', async (_, inFile, expected) => {
    const config = parseConfig(
      `${TARGET}    source: external_image\n    image: a:1\n${inFile}`,
      'slipway.yaml',
    );
    const environment = { SLIPWAY_ARTIFACT_STORE: 's3://of-the-environment/x' };
    const { recordStore } = await artifactOf({ config, folder }, 'a', { home: folder, environment }, never);
    expect(recordStore).toBe(expected);
  });

  it.each([
    ['source: external_image\n    image: registry/agent:1', { kind: 'image', uri: 'registry/agent:1' }],
    ['source: repo_host\n    repo: { url: https://git, ref: main }', { kind: 'git', ref: 'main' }],
  ])('of %s is only named', async (source, artifact) => {
    const config = parseConfig(`${TARGET}    ${source}\n`, 'slipway.yaml');
    const prepared = await artifactOf(
      { config, folder },
      'a',
      { home: join(folder, 'home'), environment: {} },
      never,
    );
    expect(prepared.artifact).toEqual(artifact);
  });

  it('is refused while a file of it has an unresolved merge conflict, but not one that is ignored', async () => {
    const git = (input: string, ...args: string[]): string =>
      execFileSync('git', args, { cwd: folder, input, encoding: 'utf8' }).trim();
    git('', 'init', '--quiet');
    const blob = git('{}', 'hash-object', '-w', '--stdin');
    const ours = (path: string): string => `100644 ${blob} 2\t${path}\n100644 ${blob} 3\t${path}\n`;
    git(ours('graph.json') + ours('notes.md'), 'update-index', '--index-info');
    await writeFile(join(folder, 'notes.md'), '<<<<<<<');
    const config = parseConfig(`${TARGET}artifact: { ignore: [notes.md] }\n`, 'slipway.yaml');
    const prepare = () => artifactOf({ config, folder }, 'a', { home: folder, environment: {} }, never);
    await expect(prepare()).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNMERGED', place: 'graph.json' });
    git('', 'add', 'graph.json');
    await expect(prepare()).resolves.toBeDefined();
  });
});
