import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { artifactPath, type ArtifactStore } from '../../src/artifact/artifactStore.ts';
import { digestFile } from '../../src/artifact/digest.ts';
import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import type { Stack } from './stack.ts';

export function storeOf({ env }: Stack): ArtifactStore {
  return openArtifactStore(join(env['SLIPWAY_HOME'] ?? '', 'artifacts'));
}

/** Puts a never released artifact into the store. */
export async function storeUnneeded(stack: Stack): Promise<{ readonly digest: string }> {
  const file = join(stack.folder, 'never-released');
  await writeFile(file, 'never released');
  const digest = await digestFile(file);
  await storeOf(stack).put(file, digest);
  return { digest };
}

/** Sets the times of everything in the store to 40 days ago. */
export async function makeOld(stack: Stack): Promise<void> {
  const store = storeOf(stack);
  const putAt = new Date(Date.now() - 40 * 86_400_000);
  for (const { digest } of await store.listArtifacts()) {
    await utimes(fileURLToPath(`${store.url}/${artifactPath(digest)}`), putAt, putAt);
  }
}
