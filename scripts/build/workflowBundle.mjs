// The workflow bundle. The build, the tests and the benchmarks all use it.
import { join } from 'node:path';

import { bundleWorkflowCode } from '@temporalio/worker';

/** The outermost first: a reset target drops a message that arrives again before the message waits for anything else. */
const INTERCEPTORS = ['target/messageGate', 'taskBoundaries', 'malformedStart', 'traces'];

/**
 * The SDK requires a source map, which nothing reads, because the workflows' errors have no stack traces. The bundler's
 * has the paths of this machine and a random name, so that each build would have another id.
 */
const MAP = { version: 3, file: 'workflow-bundle.cjs', sources: [], names: [], mappings: '' };
const MAP_COMMENT = '//# sourceMappingURL=data:application/json;base64,';

/**
 * Bundles the modules of a folder, which end in `.js` or `.ts`. `options`: additional options of the SDK's bundler.
 *
 * All workflows of a worker share the modules, which keep no workflow state (`src/workflows/perWorkflow.ts`): 200
 * concurrent releases need half the memory. The SDK's stack traces of promises, for the query `__stack_trace`, are off:
 * they took an eighth of the time of an idle release. Slipway's own queries show what a workflow waits for.
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
  const program = code.slice(0, code.lastIndexOf('//# sourceMappingURL='));
  const map = Buffer.from(JSON.stringify(MAP)).toString('base64');
  return `Error.stackTraceLimit = 0;\n${program}${MAP_COMMENT}${map}`;
}
