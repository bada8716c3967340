import {
  AssistantCount,
  AssistantCreate,
  AssistantDeleteQuery,
  AssistantGraphQuery,
  AssistantLatest,
  AssistantPatch,
  AssistantPath,
  AssistantSearch,
  AssistantVersions,
  SubgraphPath,
  SubgraphQuery,
} from '@slipway/contract/runApi/assistant';
import { type Context, Hono } from 'hono';

import { parseBody, parseOptionalBody, parsePath, parseQuery } from '../../http/parse.ts';
import type { Assistants } from '../graphs/assistants.ts';
import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import { resolveForInspection } from '../graphs/graphLoader.ts';
import type { ThreadRemoval } from '../runs/threadRemoval.ts';
import type { AssistantRecord } from '../store/assistantStore.ts';
import { pickFields, requireStorable, requireStorableIfGiven } from './wire.ts';

/** Assistants: the routes of the public client (contract 001: "not shown"). */
export function assistantRoutes(assistants: Assistants, removal: ThreadRemoval): Hono {
  const app = new Hono();

  app.post('/assistants', async (c) => {
    const { assistant_id: id, if_exists: ifExists, ...body } = await parseBody(AssistantCreate, c);
    const made = await assistants.create(
      {
        graph_id: body.graph_id,
        name: body.name ?? 'Untitled',
        description: body.description ?? null,
        config: requireStorable(body.config ?? {}, 'config'),
        context: requireStorable(body.context ?? {}, 'context'),
        metadata: requireStorable(body.metadata ?? {}, 'metadata'),
      },
      { assistantId: id ?? undefined, ifExists: ifExists ?? 'raise' },
    );
    return c.json(made);
  });

  app.post('/assistants/search', async (c) => {
    const body = await parseOptionalBody(AssistantSearch, c);
    const { found, total } = await assistants.search({
      ...filterOf(body),
      sortBy: body.sort_by ?? undefined,
      sortOrder: body.sort_order ?? undefined,
      limit: body.limit,
      offset: body.offset,
    });
    const next = body.offset + found.length;
    c.header('x-pagination-total', String(total));
    if (found.length > 0 && next < total) c.header('x-pagination-next', String(next));
    return c.json(found.map((assistant) => pickFields({ ...assistant }, body.select)));
  });

  app.post('/assistants/count', async (c) => {
    const filter = filterOf(await parseOptionalBody(AssistantCount, c));
    return c.json((await assistants.search({ ...filter, limit: 1, offset: 0 })).total);
  });

  app.get('/assistants/:assistant_id', async (c) =>
    c.json(await assistants.get(parsePath(AssistantPath, c).assistant_id)),
  );

  app.patch('/assistants/:assistant_id', async (c) => {
    const { assistant_id: id } = parsePath(AssistantPath, c);
    // Null means the same as an absent field.
    const body = await parseBody(AssistantPatch, c);
    for (const field of ['config', 'context', 'metadata'] as const)
      requireStorableIfGiven(body[field], field);
    const given = Object.entries(body).filter(([, value]) => value != null);
    return c.json(await assistants.update(id, Object.fromEntries(given)));
  });

  app.delete('/assistants/:assistant_id', async (c) => {
    const { assistant_id: id } = parsePath(AssistantPath, c);
    const { delete_threads: withThreads } = parseQuery(AssistantDeleteQuery, c);
    const removed = await assistants.remove(id);
    if (withThreads) await removal.removeThreadsOf(removed);
    return c.body(null, 204);
  });

  app.post('/assistants/:assistant_id/versions', async (c) => {
    const { assistant_id: id } = parsePath(AssistantPath, c);
    const { metadata, limit, offset } = await parseOptionalBody(AssistantVersions, c);
    return c.json(
      await assistants.versions(id, {
        metadata: requireStorableIfGiven(metadata, 'metadata'),
        limit,
        offset,
      }),
    );
  });

  app.post('/assistants/:assistant_id/latest', async (c) => {
    const { assistant_id: id } = parsePath(AssistantPath, c);
    const { version } = await parseBody(AssistantLatest, c);
    return c.json(await assistants.setVersion(id, version));
  });

  app.get('/assistants/:assistant_id/graph', async (c) => {
    const assistant = await assistants.get(parsePath(AssistantPath, c).assistant_id);
    const { xray } = parseQuery(AssistantGraphQuery, c);
    // `xray` opens subgraphs, to the given depth.
    const drawable = await (await graphOf(assistant)).getGraphAsync({ xray: xray ?? false });
    return c.json(drawable.toJSON() as object);
  });

  app.get('/assistants/:assistant_id/schemas', async (c) => {
    const assistant = await assistants.get(parsePath(AssistantPath, c).assistant_id);
    return c.json({ graph_id: assistant.graph_id, ...schemasOf(await graphOf(assistant)) });
  });

  app.get('/assistants/:assistant_id/subgraphs', async (c) =>
    c.json(await subgraphs(c, parsePath(AssistantPath, c).assistant_id, undefined)),
  );

  app.get('/assistants/:assistant_id/subgraphs/:namespace', async (c) => {
    const { assistant_id: id, namespace } = parsePath(SubgraphPath, c);
    return c.json(await subgraphs(c, id, namespace));
  });

  return app;

  /** The subgraphs of a graph with their schemas, by namespace: the named one, or all. `recurse` goes deeper. */
  async function subgraphs(c: Context, id: string, namespace: string | undefined) {
    const { recurse } = parseQuery(SubgraphQuery, c);
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

function filterOf(body: AssistantCount) {
  return {
    graphId: body.graph_id ?? undefined,
    name: body.name ?? undefined,
    metadata: requireStorableIfGiven(body.metadata, 'metadata'),
  };
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
