import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

import type { BundleOptions } from '@temporalio/worker';

/** The export condition that resolves this repository's packages to their sources (`exports` in `package.json`). */
export const SOURCE_CONDITION = '@slipway/source';

/** Not `import.meta.resolve`: vitest's global setup does not have it. */
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** Options for Node: it runs TypeScript, and loads this repository's packages from their sources. */
export const FROM_SOURCE: readonly string[] = [`--conditions=${SOURCE_CONDITION}`, '--import', TSX];

/** Makes Temporal's bundler load this repository's packages from their sources. */
export const bundleSources: NonNullable<BundleOptions['webpackConfigHook']> = (config) => ({
  ...config,
  resolve: { ...config.resolve, conditionNames: [SOURCE_CONDITION, '...'] },
});
