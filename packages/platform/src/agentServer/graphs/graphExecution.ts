import { VOCABULARY } from '@slipway/contract/controlPlane/vocabulary';
import { isRecord } from '@slipway/contract/json';
import { toWireJson } from '../runs/wireJson.ts';
import {
  addressOf,
  type CompiledGraph,
  type GraphCallOptions,
  type GraphConfigLike,
  type GraphEvent,
} from './compiledGraph.ts';

/** One event of an execution: the kind of event (contract 001, "Events") and its data as JSON. */
export interface ExecutionEvent {
  readonly event: string;
  readonly data: string;
}

export interface ExecutionRequest {
  readonly graph: CompiledGraph;
  readonly input: unknown;
  /** The modes of the contract: `values`, `updates`, `messages-tuple`, `debug`, `custom`, `events`. */
  readonly streamModes: readonly string[];
  readonly subgraphs: boolean;
  readonly options: Omit<GraphCallOptions, 'streamMode' | 'subgraphs'>;
}

/** The newest full state that an execution emitted: the answer of `wait` and `join`. */
export interface ExecutionResult {
  /** An entrypoint's may be any JSON. `undefined` if the graph emitted none because nothing was left to do. */
  values: unknown;
  interrupts: unknown[];
}

/**
 * Executes a graph once, yields its events, and returns the newest state.
 * @throws what the graph throws, and `UnserializableValue` for a state that cannot be written as JSON.
 */
export async function* executeGraph(
  request: ExecutionRequest,
): AsyncGenerator<ExecutionEvent, ExecutionResult> {
  const requestedModes = new Set(request.streamModes);
  const result: ExecutionResult = { values: undefined, interrupts: [] };
  const complete = createStateCompletion();
  for await (const part of openStream(request, requestedModes)) {
    if ('trace' in part) {
      yield { event: 'events', data: toWireJson(part.trace, { strict: false, root: 'event' }) };
      continue;
    }
    const { namespace, mode } = part;
    const chunk = mode === 'values' ? complete(namespace, part.chunk) : part.chunk;
    if (mode === 'values' && namespace.length === 0) collectValues(result, chunk);
    const wireMode = mode === 'messages' ? 'messages-tuple' : mode;
    if (!requestedModes.has(wireMode)) {
      // Encoded all the same, so that a state is refused whether it is streamed or not.
      if (mode === 'values') toWireJson(chunk, { strict: true, root: 'values' });
      continue;
    }
    const suffix = request.subgraphs && namespace.length > 0 ? `|${namespace.join('|')}` : '';
    yield { event: `${mode}${suffix}`, data: encodeChunk(mode, chunk) };
  }
  return result;
}

type StreamPart =
  { namespace: readonly string[]; mode: string; chunk: unknown } | { trace: Record<string, unknown> };

/** `streamEvents` carries everything but costs an event per step of every runnable, so it is used only for `events`. */
async function* openStream(
  request: ExecutionRequest,
  requestedModes: ReadonlySet<string>,
): AsyncGenerator<StreamPart> {
  const modes = new Set(['values']);
  for (const mode of requestedModes)
    if (mode !== 'events') modes.add(mode === 'messages-tuple' ? 'messages' : mode);
  const options: GraphCallOptions = {
    ...request.options,
    streamMode: [...modes],
    subgraphs: request.subgraphs,
  };
  if (!requestedModes.has('events')) {
    for await (const chunk of await request.graph.stream(request.input, options)) {
      yield toPart(chunk, request.subgraphs);
    }
    return;
  }
  for await (const event of request.graph.streamEvents(request.input, { ...options, version: 'v2' })) {
    if (event.tags?.includes('langsmith:hidden')) continue;
    if (event.event === 'on_chain_stream' && event.run_id === options.runId) {
      const part = toPart(event.data['chunk'], request.subgraphs);
      yield part;
      yield { trace: { ...event, data: { chunk: 'chunk' in part ? part.chunk : null } } };
    } else {
      yield { trace: withoutInternals(event) };
    }
  }
}

/** Chunks are `[mode, chunk]`, or `[namespace, mode, chunk]` with subgraphs, because `stream_mode` is always a list. */
function toPart(chunk: unknown, subgraphs: boolean): StreamPart & { mode: string } {
  if (subgraphs) {
    const [namespace, mode, value] = chunk as [string[], string, unknown];
    return { namespace: namespace.filter((part) => part !== ''), mode, chunk: value };
  }
  const [mode, value] = chunk as [string, unknown];
  return { namespace: [], mode, chunk: value };
}

/**
 * LangGraph emits an interrupt in mode `values` without the state, but every `values` event has the full state (contract
 * 001, "Events"): the namespace's last one. When the root graph ends a step, its subgraphs have ended theirs.
 */
function createStateCompletion(): (namespace: readonly string[], chunk: unknown) => unknown {
  const states = new Map<string, object>();
  return (namespace, chunk) => {
    if (!isRecord(chunk)) return chunk;
    const key = namespace.join('|');
    if ('__interrupt__' in chunk) return { ...states.get(key), ...chunk };
    if (namespace.length === 0) states.clear();
    states.set(key, chunk);
    return chunk;
  };
}

function collectValues(result: ExecutionResult, chunk: unknown): void {
  result.values = chunk;
  if (!isRecord(chunk)) return;
  const { __interrupt__: interrupts, ...values } = chunk;
  if (Array.isArray(interrupts)) result.interrupts.push(...(interrupts as unknown[]));
  result.values = values;
}

function encodeChunk(mode: string, chunk: unknown): string {
  switch (mode) {
    case 'messages': {
      const [message, metadata] = chunk as [unknown, Record<string, unknown>];
      const { contract, public: relative } = VOCABULARY.messageNode;
      const named = { ...metadata, [contract]: metadata[relative] ?? null };
      return toWireJson([message, withoutPrivate(named)], { strict: false, root: 'message' });
    }
    case 'debug':
      return toWireJson(serializableDebug(chunk as Record<string, unknown>), {
        strict: false,
        root: 'debug',
      });
    default:
      return toWireJson(chunk, { strict: true, root: mode });
  }
}

/** The configurations inside a `debug` checkpoint carry the runtime's own objects. Only the addresses matter. */
function serializableDebug(chunk: Record<string, unknown>): Record<string, unknown> {
  const payload = chunk['payload'];
  if (typeof payload !== 'object' || payload === null || chunk['type'] !== 'checkpoint') return chunk;
  const { config, parentConfig, ...rest } = payload as Record<string, unknown>;
  return {
    ...chunk,
    payload: {
      ...rest,
      checkpoint: addressOf(config as GraphConfigLike | undefined),
      parent_checkpoint: addressOf(parentConfig as GraphConfigLike | undefined),
    },
  };
}

function withoutInternals(event: GraphEvent): Record<string, unknown> {
  return { ...event, ...(event.metadata && { metadata: withoutPrivate(event.metadata) }) };
}

function withoutPrivate(metadata: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !name.startsWith('__pregel')));
}
