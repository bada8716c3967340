import type { StateSnapshot } from '@langchain/langgraph';

/**
 * What the agent server asks of a compiled graph. Structural on purpose: an agent brings its own copy of
 * `@langchain/langgraph`, so `instanceof` would be false for every graph that matters.
 */
export interface CompiledGraph {
  /** The saver, or `false` where the graph's author wants nothing stored. */
  checkpointer?: unknown;
  /** The long-term store of its author, where there is one. */
  store?: unknown;
  /** The nodes that its author has it stop before and after. */
  interruptBefore?: string[] | '*';
  interruptAfter?: string[] | '*';
  stream(input: unknown, options: GraphCallOptions): Promise<AsyncIterable<unknown>>;
  streamEvents(input: unknown, options: GraphCallOptions & { version: 'v2' }): AsyncIterable<GraphEvent>;
  getState(config: GraphConfigLike, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(
    config: GraphConfigLike,
    options?: { limit?: number; before?: GraphConfigLike; filter?: Record<string, unknown> },
  ): AsyncIterable<StateSnapshot>;
  updateState(config: GraphConfigLike, values: unknown, asNode?: string): Promise<GraphConfigLike>;
  bulkUpdateState(
    config: GraphConfigLike,
    supersteps: { updates: { values?: unknown; asNode?: string }[] }[],
  ): Promise<GraphConfigLike>;
  getGraphAsync(options: { xray: boolean | number }): Promise<{ toJSON(): unknown }>;
  getSubgraphsAsync(namespace?: string, recurse?: boolean): AsyncIterable<[string, CompiledGraph]>;
  /** The names of what it gives, and of what its `values` stream shows. */
  outputChannels?: unknown;
  streamChannels?: unknown;
  /** What it was compiled from, with the definitions of its state, as far as they are there at run time. */
  builder?: {
    _schemaRuntimeDefinition?: unknown;
    _inputRuntimeDefinition?: unknown;
    _outputRuntimeDefinition?: unknown;
    /** The conditional edges of each node. */
    branches?: Record<string, object>;
  };
  nodes?: Record<string, unknown>;
}

/** A graph that still has to be compiled: what `new StateGraph(…)` builds. */
export interface GraphBuilder {
  compile(options?: Record<string, unknown>): CompiledGraph;
}

/** A runnable's configuration, as far as it is read or written here. */
export interface GraphConfigLike {
  configurable?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  tags?: string[];
  recursionLimit?: number;
}

/** Options of one execution. */
export interface GraphCallOptions extends GraphConfigLike {
  streamMode: string[];
  subgraphs: boolean;
  signal: AbortSignal;
  runId: string;
  interruptBefore?: string[] | '*';
  interruptAfter?: string[] | '*';
  durability?: string;
  context?: Record<string, unknown>;
}

/** An event of `streamEvents`. */
export interface GraphEvent {
  event: string;
  name: string;
  run_id: string;
  tags?: string[];
  metadata?: Record<string, unknown>;
  data: Record<string, unknown>;
}

export type { StateSnapshot };

export function isCompiledGraph(value: unknown): value is CompiledGraph {
  return has(value, 'stream') && has(value, 'getState') && has(value, 'streamEvents');
}

export function isGraphBuilder(value: unknown): value is GraphBuilder {
  return has(value, 'compile');
}

/** Whether a run's first step is LangGraph's own `__start__`, and runs no code of the agent (conditional edges do). */
export function startsPlainly({ nodes, builder }: CompiledGraph): boolean {
  return (
    nodes?.['__start__'] !== undefined && Object.keys(builder?.branches?.['__start__'] ?? {}).length === 0
  );
}

function has(value: unknown, method: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[method] === 'function'
  );
}
