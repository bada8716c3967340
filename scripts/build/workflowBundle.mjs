// The bundle of the workflows: made in the same way by the build, the tests and the benchmarks.
import { join } from 'node:path';

import { bundleWorkflowCode } from '@temporalio/worker';

const INTERCEPTORS = ['taskBoundaries', 'target/doorway', 'traces'];

/**
 * Bundles the modules of a folder, which end in `.js` or `.ts`; `options` are further ones of the SDK's bundler.
 *
 * All workflows of a worker share the modules, which keep no state of a workflow (`src/workflows/perWorkflow.ts`): 200
 * releases at once take half the memory. Nor does the SDK take a stack trace of each promise, for its query
 * `__stack_trace`: an eighth of the time of an idle release. Slipway's own queries say what a workflow waits for.
 */
export async function bundleModules(folder, extension, options) {
  const path = (name) => join(folder, `${name}${extension}`);
  const workflowsPath = path('index');
  const payloadConverterPath = path('payloadConverter');
  const failureConverterPath = path('failureConverter');
  const workflowInterceptorModules = INTERCEPTORS.map(path);
  const { code } = await bundleWorkflowCode({
    ...options,
    workflowsPath,
    payloadConverterPath,
    failureConverterPath,
    workflowInterceptorModules,
    preloadModules: [
      workflowsPath,
      payloadConverterPath,
      failureConverterPath,
      ...workflowInterceptorModules,
    ],
  });
  return `Error.stackTraceLimit = 0;\n${code}`;
}
