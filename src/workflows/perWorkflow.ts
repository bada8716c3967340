/**
 * State that belongs to one workflow, for modules that all workflows of a worker share (`preloadModules` in the bundle):
 * kept on the global object, of which the SDK gives each workflow its own.
 *
 * @param name - unique among the states.
 * @param initial - makes the state of a workflow that asks for the first time.
 */
export function perWorkflow<State>(name: string, initial: () => State): () => State {
  const key = `slipway.${name}`;
  const states = globalThis as unknown as Record<string, State | undefined>;
  return () => (states[key] ??= initial());
}
