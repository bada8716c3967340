/**
 * State of one workflow for modules that all workflows of a worker share (`preloadModules` in the bundle). It is kept
 * on the global object, because the SDK gives each workflow its own.
 *
 * @param name - unique among these states.
 * @param initial - creates the state on a workflow's first access.
 */
export function perWorkflow<State>(name: string, initial: () => State): () => State {
  const key = `slipway.${name}`;
  const states = globalThis as unknown as Record<string, State | undefined>;
  return () => (states[key] ??= initial());
}
