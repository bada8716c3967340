import type { StateSnapshot } from '@langchain/langgraph';

/** What is used of a compiled graph. Structural, because an agent brings its own copy of `@langchain/langgraph`. */
export interface CompiledGraph {
  /** The saver, or `false` if the graph's author wants nothing stored. */
  checkpointer?: unknown;
  /** The long-term store that the author compiled it with, if any. */
  store?: unknown;
  /** The nodes before and after which the author interrupts the graph. */
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
  /** The names of the output channels, and of the channels in the `values` stream. */
  outputChannels?: unknown;
  streamChannels?: unknown;
  /** The builder, with the state's definitions as far as they exist at run time. */
  builder?: {
    _schemaRuntimeDefinition?: unknown;
    _inputRuntimeDefinition?: unknown;
    _outputRuntimeDefinition?: unknown;
    branches?: Record<string, object>;
  };
  nodes?: Record<string, unknown>;
}

/** The fields of a runnable's configuration that the server reads or writes. */
export interface GraphConfigLike {
  configurable?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  tags?: string[];
  recursionLimit?: number;
}

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

export interface GraphEvent {
  event: string;
  name: string;
  run_id: string;
  tags?: string[];
  metadata?: Record<string, unknown>;
  data: Record<string, unknown>;
}

export type { StateSnapshot };

/** The address of a checkpoint on the wire. */
export function addressOf(config: GraphConfigLike | undefined): Record<string, unknown> | null {
  if (config?.configurable === undefined) return null;
  const { thread_id, checkpoint_ns = '', checkpoint_id = null, checkpoint_map } = config.configurable;
  return { thread_id, checkpoint_ns, checkpoint_id, ...(checkpoint_map != null && { checkpoint_map }) };
}

export function isCompiledGraph(value: unknown): value is CompiledGraph {
  return has(value, 'stream') && has(value, 'getState') && has(value, 'streamEvents');
}

/** Whether it is a graph that is not compiled yet: what `new StateGraph(…)` builds. */
export function isGraphBuilder(value: unknown): value is { compile(): unknown } {
  return has(value, 'compile');
}

/** Whether a run's first step is LangGraph's own `__start__` and runs no code of the agent. Conditional edges would. */
export function usesDefaultStart({ nodes, builder }: CompiledGraph): boolean {
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
