import type { Assistants } from '../graphs/assistants.ts';
import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import { type GraphStores, served } from '../graphs/graphStore.ts';
import type { Kwargs } from './newRun.ts';

/** The graphs that runs are executed with. */
export class RunGraphs {
  readonly #assistants: Assistants;
  readonly #stores: GraphStores;

  constructor(options: { assistants: Assistants; stores: GraphStores }) {
    this.#assistants = options.assistants;
    this.#stores = options.stores;
  }

  /**
   * The compiled graph of a run, with our checkpointer (unless its author wants nothing stored) and store.
   * @throws GraphNotServed where another revision accepted the run, and this one does not have its graph.
   */
  async of(kwargs: Pick<Kwargs, 'config'>): Promise<CompiledGraph> {
    const name = String(kwargs.config.configurable['graph_id']);
    const loaded = this.#assistants.find(name);
    if (loaded === undefined) throw new GraphNotServed(name);
    return served(await loaded.resolve(kwargs.config), this.#stores);
  }
}

/** The revision that took a run up does not have the run's graph; the run ends with this. */
class GraphNotServed extends Error {
  constructor(name: string) {
    super(`This revision serves no graph named ${name}, which the run was made for.`);
    this.name = 'GraphNotServed';
  }
}
