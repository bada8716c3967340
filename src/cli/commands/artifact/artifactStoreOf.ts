import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../../artifact/openArtifactStore.ts';
import { setting } from '../../../config/environment.ts';
import { makeHome } from '../../../config/home.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { storeScheme } from '../../../domain/artifact/storeUrl.ts';
import type { Machine } from '../../../inspection/deployment/deploymentAccess.ts';

/**
 * The artifact store of releases. First choice: the file's `artifact.store` (a URL, or a folder relative to the file).
 * Second: `SLIPWAY_ARTIFACT_STORE` (relative to the working folder). Else `artifacts` in Slipway's home. Each release
 * tells the worker which store to use.
 * @throws SlipwayError SLIPWAY_CONFIG_INVALID for a URL with an unsupported scheme.
 */
export function artifactStoreOf({ config, folder }: Project, context: Machine): ArtifactStore {
  const { store } = config.artifact;
  if (store === undefined) return ownArtifactStore(context);
  return openArtifactStore(storeScheme(store) === undefined ? resolve(folder, store) : store);
}

/** The artifact store if no file names one: `SLIPWAY_ARTIFACT_STORE`, else `artifacts` in Slipway's home. */
export function ownArtifactStore({ home, environment }: Machine): ArtifactStore {
  return openArtifactStore(setting(environment, 'SLIPWAY_ARTIFACT_STORE') ?? join(home, 'artifacts'));
}

/** Creates the home if the store is in it. Another store needs no home, which may then be read-only. @throws as {@link makeHome}. */
export async function makeHomeOf({ url }: Pick<ArtifactStore, 'url'>, { home }: Machine): Promise<void> {
  if (url.startsWith(`${pathToFileURL(home).href}/`)) await makeHome(home);
}
