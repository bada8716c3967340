import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

import type { BundleOptions } from '@temporalio/worker';

/** The condition under which the packages of this repository are their sources: `exports` of their `package.json`. */
export const SOURCE_CONDITION = '@slipway/source';

/** Not `import.meta.resolve`: a global setup of vitest has none. */
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** Options for Node: it reads TypeScript, and takes the packages of this repository from their sources. */
export const FROM_SOURCE: readonly string[] = [`--conditions=${SOURCE_CONDITION}`, '--import', TSX];

/** Lets Temporal's bundler take the packages of this repository from their sources. */
export const bundleSources: NonNullable<BundleOptions['webpackConfigHook']> = (config) => ({
  ...config,
  resolve: { ...config.resolve, conditionNames: [SOURCE_CONDITION, '...'] },
});
