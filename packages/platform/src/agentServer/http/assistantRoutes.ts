import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';

import type { Serve } from '../../http/serve.ts';
import type { Assistants } from '../graphs/assistants.ts';
import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import { resolveForInspection } from '../graphs/graphLoader.ts';
import type { ThreadRemoval } from '../runs/threadRemoval.ts';
import type { AssistantRecord } from '../store/assistantStore.ts';
import { pickFields } from './wire.ts';

/** Assistants: the routes of the public client (contract 001: "not shown"). */
export function serveAssistants(serve: Serve, assistants: Assistants, removal: ThreadRemoval): void {
  serve(ENDPOINTS.createAssistant, ({ body: { assistant_id: id, if_exists: ifExists, ...body } }) =>
    assistants.create(
      {
        graph_id: body.graph_id,
        name: body.name ?? 'Untitled',
        description: body.description ?? null,
        config: body.config ?? {},
        context: body.context ?? {},
        metadata: body.metadata ?? {},
      },
      { assistantId: id ?? undefined, ifExists: ifExists ?? 'raise' },
    ),
  );
  serve(ENDPOINTS.searchAssistants, async ({ body }, c) => {
    const { found, total } = await assistants.search(body);
    const next = body.offset + found.length;
    c.header('x-pagination-total', String(total));
    if (found.length > 0 && next < total) c.header('x-pagination-next', String(next));
    return found.map((assistant) => pickFields({ ...assistant }, body.select));
  });
  serve(ENDPOINTS.countAssistants, async ({ body }) => {
    const { total } = await assistants.search({ ...body, limit: 1, offset: 0 });
    return total;
  });
  serve(ENDPOINTS.getAssistant, ({ params }) => assistants.get(params.assistant_id));
  serve(ENDPOINTS.patchAssistant, ({ params, body }) => {
    // Null means the same as an absent field.
    const given = Object.entries(body).filter(([, value]) => value != null);
    return assistants.update(params.assistant_id, Object.fromEntries(given));
  });
  serve(ENDPOINTS.deleteAssistant, ({ params, query }) =>
    assistants.remove(
      params.assistant_id,
      query.delete_threads ? (id) => removal.removeThreadsOf(id) : undefined,
    ),
  );
  serve(ENDPOINTS.listAssistantVersions, ({ params, body }) =>
    assistants.versions(params.assistant_id, body),
  );
  serve(ENDPOINTS.setAssistantVersion, ({ params, body }) =>
    assistants.setVersion(params.assistant_id, body.version),
  );
  serve(ENDPOINTS.drawAssistantGraph, async ({ params, query }) => {
    // `xray` opens subgraphs, to the given depth.
    const graph = await graphOf(await assistants.get(params.assistant_id));
    return (await graph.getGraphAsync({ xray: query.xray ?? false })).toJSON();
  });
  serve(ENDPOINTS.getAssistantSchemas, async ({ params }) => {
    const assistant = await assistants.get(params.assistant_id);
    return { graph_id: assistant.graph_id, ...schemasOf(await graphOf(assistant)) };
  });
  serve(ENDPOINTS.listSubgraphs, ({ params, query }) =>
    subgraphs(params.assistant_id, undefined, query.recurse),
  );
  serve(ENDPOINTS.getSubgraph, ({ params, query }) =>
    subgraphs(params.assistant_id, params.namespace, query.recurse),
  );
  /** The subgraphs of a graph with their schemas, by namespace: the named one, or all. `recurse` goes deeper. */
  async function subgraphs(id: string, namespace: string | undefined, recurse: boolean) {
    const graph = await graphOf(await assistants.get(id));
    const found: Record<string, object> = {};
    for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse))
      found[name] = schemasOf(subgraph);
    return found;
  }

  async function graphOf(assistant: AssistantRecord): Promise<CompiledGraph> {
    return resolveForInspection(assistants.getGraph(assistant.graph_id), assistant.config);
  }
}

type JsonSchema = Record<string, unknown>;

/**
 * A graph's input, state and output as JSON Schemas (public client: `assistants.getSchemas`). If the author gave no
 * `StateSchema`, only the names of its channels, with any value. Decision: types that exist only in TypeScript are
 * not read from the source.
 */
function schemasOf({ builder, outputChannels, streamChannels }: CompiledGraph) {
  const definition = builder?._schemaRuntimeDefinition;
  const config = { type: 'object', properties: {} };
  const state = jsonSchemaOf(definition, 'getJsonSchema');
  return {
    input_schema:
      jsonSchemaOf(builder?._inputRuntimeDefinition, 'getInputJsonSchema') ??
      jsonSchemaOf(definition, 'getInputJsonSchema') ??
      channelSchema(outputChannels),
    output_schema:
      jsonSchemaOf(builder?._outputRuntimeDefinition, 'getJsonSchema') ??
      state ??
      channelSchema(outputChannels),
    state_schema: state ?? channelSchema(streamChannels ?? outputChannels),
    config_schema: config,
    context_schema: config,
  };
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
