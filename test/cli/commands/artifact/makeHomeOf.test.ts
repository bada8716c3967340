import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { artifactStoreOf, makeHomeOf } from '../../../../src/cli/commands/artifact/artifactStoreOf.ts';
import { parseConfig } from '../../../config/parseConfig.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const folder = useFolders();

async function make(home: string, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const config = parseConfig(
    'targets: { a: { controlPlane: "http://localhost:1", apiKey: { from: "env:K" }, deployment: a } }',
    'slipway.yaml',
  );
  const machine = { home, environment };
  await makeHomeOf(artifactStoreOf({ config, folder: folder() }, machine), machine);
}

it('a store in the home needs the home', async () => {
  await make(join(folder(), '.slipway'));
  expect(existsSync(join(folder(), '.slipway', '.gitignore'))).toBe(true);
  await writeFile(join(folder(), 'file'), '');
  await expect(make(join(folder(), 'file'))).rejects.toMatchObject({ code: 'SLIPWAY_USAGE' });
});

it.each(['s3://bucket/prefix', '/elsewhere'])('a release with the store %s needs no home', async (store) => {
  await writeFile(join(folder(), 'file'), '');
  await make(join(folder(), 'file'), { SLIPWAY_ARTIFACT_STORE: store });
});

it('an empty store of the environment is not set', async () => {
  await make(join(folder(), '.slipway'), { SLIPWAY_ARTIFACT_STORE: ' ' });
  expect(existsSync(join(folder(), '.slipway', '.gitignore'))).toBe(true);
});
