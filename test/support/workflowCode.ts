import { fileURLToPath } from 'node:url';

import { DefaultLogger } from '@temporalio/worker';

import { bundleModules } from '../../scripts/build/workflowBundle.mjs';
import { bundleSources } from './fromSource.ts';

/** Bundles the workflows as they are now. @returns the bundle's code. */
export function workflowCode(): Promise<string> {
  const workflows = fileURLToPath(new URL('../../src/workflows', import.meta.url));
  return bundleModules(workflows, '.ts', {
    logger: new DefaultLogger('ERROR'),
    webpackConfigHook: bundleSources,
  });
}
