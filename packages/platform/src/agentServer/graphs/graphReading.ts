import { HttpProblem } from '../../http/problem.ts';
import type { CompiledGraph } from './compiledGraph.ts';
import type { LoadedGraph } from './graphLoader.ts';

/**
 * A graph for a look at it, or at its states, outside of a run. A function of the configuration may refuse one that a
 * run would not have: that is the agent's word, and no failure of the server.
 * @throws HttpProblem 409 with what the agent's function said.
 */
export async function graphForReading(
  loaded: LoadedGraph,
  config: Record<string, unknown>,
): Promise<CompiledGraph> {
  try {
    return await loaded.resolve(config);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new HttpProblem(409, `The graph ${loaded.name} could not be made outside of a run: ${said}`, {
      cause: error,
    });
  }
}
