import type { CompiledGraph } from './compiledGraph.ts';

/** What a graph takes, keeps and gives, as JSON Schemas (public client: `assistants.getSchemas`). */
export interface GraphSchemas {
  readonly input: JsonSchema;
  readonly output: JsonSchema;
  readonly state: JsonSchema;
  readonly config: JsonSchema;
}

type JsonSchema = Record<string, unknown>;

/** A graph's nodes and edges, for drawing. `xray` opens subgraphs, as deep as it says. */
export async function drawGraph(graph: CompiledGraph, xray: boolean | number): Promise<unknown> {
  const drawable = await graph.getGraphAsync({ xray });
  return drawable.toJSON();
}

/**
 * A graph's schemas: those that its author gave (a `StateSchema`), else the names of its channels, which may hold
 * anything. Decision: types that exist only in TypeScript are not read from its source.
 */
export function schemasOf(graph: CompiledGraph): GraphSchemas {
  const { builder } = graph;
  const state = jsonSchemaOf(builder?._schemaRuntimeDefinition, 'getJsonSchema');
  return {
    state: state ?? channelSchema(graph.streamChannels ?? graph.outputChannels),
    input:
      jsonSchemaOf(builder?._inputRuntimeDefinition, 'getInputJsonSchema') ??
      jsonSchemaOf(builder?._schemaRuntimeDefinition, 'getInputJsonSchema') ??
      channelSchema(graph.outputChannels),
    output:
      jsonSchemaOf(builder?._outputRuntimeDefinition, 'getJsonSchema') ??
      state ??
      channelSchema(graph.outputChannels),
    config: { type: 'object', properties: {} },
  };
}

/** The subgraphs below a graph with their schemas, by namespace: one that is named, or all; `recurse` goes deeper. */
export async function subgraphsOf(
  graph: CompiledGraph,
  options: { namespace?: string | undefined; recurse: boolean },
): Promise<Record<string, GraphSchemas>> {
  const found: Record<string, GraphSchemas> = {};
  for await (const [namespace, subgraph] of graph.getSubgraphsAsync(options.namespace, options.recurse))
    found[namespace] = schemasOf(subgraph);
  return found;
}

function jsonSchemaOf(definition: unknown, method: string): JsonSchema | undefined {
  if (typeof definition !== 'object' || definition === null) return undefined;
  const read = (definition as Record<string, unknown>)[method];
  return typeof read === 'function' ? (read.call(definition) as JsonSchema) : undefined;
}

function channelSchema(channels: unknown): JsonSchema {
  const names = (Array.isArray(channels) ? channels : [channels]).filter(
    (name): name is string => typeof name === 'string' && !name.startsWith('__'),
  );
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) };
}
