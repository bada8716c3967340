import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { ItemFilter, ItemKey, Namespace } from '@slipway/contract/runApi/store';
import { StorableObject } from '@slipway/contract/scalars';
import type { z } from 'zod';

import type { CheckpointStore } from '../store/checkpointStore.ts';
import { type Lease, retryDuringOutage } from '../../store/databaseOutage.ts';
import type { ItemStore, StoredItem } from '../store/itemStore.ts';
import type { CompiledGraph } from './compiledGraph.ts';
import type { LoadedGraph, LoadedGraphs } from './graphLoader.ts';

/**
 * LangGraph's `BaseStore` (`config.store`, `getStore()`) on the deployment's database: the same items for every run,
 * process and revision. If the database is away, a graph waits for it while the lease on its runs holds.
 *
 * It has no embeddings: `query` does not rank, and `index` is ignored.
 */
export class GraphStore extends BaseStore {
  readonly #items: ItemStore;
  readonly #lease: Lease;

  constructor(items: ItemStore, lease: Lease) {
    super();
    this.#items = items;
    this.#lease = lease;
  }

  /** Reads run before the writes of the same batch, as in LangGraph's own stores. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const changes = operations.filter(isPut).map(changeOf);
    const results = await Promise.all(
      operations.map(async (operation) => (isPut(operation) ? undefined : this.#read(operation))),
    );
    if (changes.length > 0) await retryDuringOutage(this.#lease, () => this.#items.change(changes));
    return results as OperationResults<Op>;
  }

  #read(operation: Exclude<Operation, PutOperation>): Promise<unknown> {
    return retryDuringOutage(this.#lease, async () => {
      if ('namespacePrefix' in operation) {
        return (await this.#items.search(searchOf(operation))).map(itemOf);
      }
      if (isGet(operation)) {
        const found = await this.#items.get(operation, true);
        return found === undefined ? null : itemOf(found);
      }
      return this.#items.namespaces(operation);
    });
  }
}

function isPut(operation: Operation): operation is PutOperation {
  return 'value' in operation;
}

function isGet(operation: GetOperation | ListNamespacesOperation): operation is GetOperation {
  return 'key' in operation;
}

function changeOf({ namespace, key, value }: PutOperation) {
  return {
    namespace: parseOrThrow(Namespace, namespace, 'namespace'),
    key: parseOrThrow(ItemKey, key, 'key'),
    value: value === null ? null : parseOrThrow(StorableObject, value, 'value'),
  };
}

function searchOf(operation: SearchOperation) {
  return {
    namespace_prefix: operation.namespacePrefix,
    filter: parseOrThrow(ItemFilter, operation.filter ?? {}, 'filter'),
    limit: operation.limit ?? 10,
    offset: operation.offset ?? 0,
  };
}

function itemOf({ namespace, key, value, created_at, updated_at }: StoredItem): Item {
  return { namespace: [...namespace], key, value, createdAt: created_at, updatedAt: updated_at };
}

/** A value that the store cannot hold fails the graph. */
function parseOrThrow<S extends z.ZodType>(schema: S, given: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new TypeError(`The store takes no such ${what}: ${parsed.error.issues[0]?.message ?? ''}`);
}

/**
 * Gives every graph our checkpointer, unless its author set `checkpointer: false`, and our long-term store. Decision:
 * keep a store that the author compiled it with, because it may search by meaning, which ours does not. Replace an
 * in-memory store, because its items would be lost with the process and differ between revisions.
 */
export function withStores(
  graphs: LoadedGraphs,
  checkpoints: CheckpointStore,
  longTerm: GraphStore,
): LoadedGraphs {
  const attachTo = (graph: CompiledGraph): CompiledGraph => {
    if (graph.checkpointer !== false) graph.checkpointer = checkpoints;
    if (graph.store === undefined || isInMemoryStore(graph.store)) graph.store = longTerm;
    return graph;
  };
  // Now, because a node may use another graph before that one has run.
  for (const { compiled } of graphs.values()) if (compiled !== undefined) attachTo(compiled);
  const attached = [...graphs].map(([name, loaded]): [string, LoadedGraph] => [
    name,
    { ...loaded, resolve: async (config) => attachTo(await loaded.resolve(config)) },
  ]);
  return new Map(attached);
}

/** Compares names, because an agent brings its own copy of LangGraph. */
function isInMemoryStore(store: unknown): boolean {
  if (typeof store !== 'object' || store === null) return false;
  const { name } = store.constructor;
  return (
    (name === 'InMemoryStore' || name === 'MemoryStore') && !('_indexConfig' in store && store._indexConfig)
  );
}
