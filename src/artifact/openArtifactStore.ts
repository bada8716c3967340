import { fileURLToPath } from 'node:url';

import { readS3Url, storeScheme, storeUrlProblem } from '../domain/artifact/storeUrl.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { ArtifactStore } from './artifactStore.ts';
import { folderStore } from './folderStore.ts';
import { s3Store } from './s3/s3Store.ts';

/**
 * Opens the artifact store of an `s3:` URL, a `file:` URL or a folder's path. It sends no request yet.
 * @throws SlipwayError `SLIPWAY_CONFIG_INVALID` for any other URL.
 */
export function openArtifactStore(store: string): ArtifactStore {
  const scheme = storeScheme(store);
  if (scheme === undefined) return folderStore(store);
  if (scheme === 'file') return folderStore(fileURLToPath(store));
  const place = scheme === 's3' ? readS3Url(store) : undefined;
  if (typeof place === 'object') return s3Store(place);
  throw new SlipwayError(
    'SLIPWAY_CONFIG_INVALID',
    `the artifact store: ${storeUrlProblem(store) ?? scheme}`,
    {
      place: 'artifact.store',
      hint: 'Use a folder, or s3://BUCKET/PREFIX (docs/artifact-store.md).',
    },
  );
}
