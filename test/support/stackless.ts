/**
 * Where the bundle of the workflows lies that takes no stack traces. Temporal's SDK takes one of each promise of a
 * workflow, and workers without a cache make all of them anew at each task: a tenth of what these tests cost.
 */
export function stacklessBundle(bundle: string): string {
  return bundle.replace(/\.js$/, '.stackless.js');
}

/** The same code without stack traces. */
export function withoutStacks(code: string): string {
  return `Error.stackTraceLimit = 0;\n${code}`;
}
