import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { CompiledGraph } from './compiledGraph.ts';
import type { GraphStore } from './graphStore.ts';

/** What every graph is given. */
export interface GraphStores {
  readonly checkpoints: CheckpointStore;
  readonly longTerm: GraphStore;
}

/**
 * Gives a graph our checkpointer, unless its author said `checkpointer: false`, and our long-term store. Decision: a
 * store that its author compiled it with stays (it may search by meaning, which ours does not), but for one that is
 * merely in memory: what it holds would be gone with the process, and differ between revisions.
 */
export function served(graph: CompiledGraph, stores: GraphStores): CompiledGraph {
  const { checkpoints, longTerm } = stores;
  if (graph.checkpointer !== false && graph.checkpointer !== checkpoints) graph.checkpointer = checkpoints;
  if (graph.store === undefined || isMerelyInMemory(graph.store)) graph.store = longTerm;
  return graph;
}

/** By name: an agent brings its own copy of LangGraph. */
function isMerelyInMemory(store: unknown): boolean {
  if (typeof store !== 'object' || store === null) return false;
  const { name } = store.constructor;
  return (
    (name === 'InMemoryStore' || name === 'MemoryStore') && !('_indexConfig' in store && store._indexConfig)
  );
}
