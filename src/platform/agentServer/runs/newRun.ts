import { randomUUID } from 'node:crypto';

import { disconnectMode, type FollowQuery } from '../../../contract/runApi/joinQuery.ts';
import { type RunCreate } from '../../../contract/runApi/run.ts';
import { assistantIdOf } from '../graphs/assistants.ts';
import { type LoadedGraph } from '../graphs/graphLoader.ts';
import { type NewRun } from '../store/runStore.ts';

/** A run to be accepted, and what the request says of its surroundings. */
export interface RunPlan {
  readonly newRun: NewRun;
  readonly resumable: boolean;
  readonly feedbackKeys: readonly string[];
  readonly cancelOnDisconnect: boolean;
  readonly delaySeconds: number;
  readonly createThread: boolean;
}

/** How a run was asked for: contract 001, "Run": `kwargs`, with what the server needs beside it. */
export type Kwargs = ReturnType<typeof kwargsOf>;

/** Makes a run of a request. Without `threadId` it is stateless (contract 001, rule 5). */
export function planRun(options: {
  body: RunCreate;
  query: FollowQuery;
  graph: LoadedGraph;
  threadId: string | undefined;
}): RunPlan {
  const { body, graph } = options;
  const runId = randomUUID();
  const stateless = options.threadId === undefined;
  const threadId = options.threadId ?? randomUUID();
  const assistantId = assistantIdOf(graph.name);
  const newRun: NewRun = {
    runId,
    threadId,
    assistantId,
    graphId: graph.name,
    metadata: { ...body.metadata },
    kwargs: kwargsOf(body, { runId, threadId, assistantId, graphId: graph.name, stateless }),
    multitaskStrategy: body.multitask_strategy,
    stateless,
  };
  return {
    newRun,
    resumable: body.stream_resumable,
    feedbackKeys: body.feedback_keys ?? [],
    cancelOnDisconnect: disconnectMode(options.query, body) === 'cancel',
    delaySeconds: body.after_seconds ?? 0,
    createThread: body.if_not_exists === 'create',
  };
}

function kwargsOf(
  body: RunCreate,
  ids: { runId: string; threadId: string; assistantId: string; graphId: string; stateless: boolean },
) {
  const { checkpoint } = body;
  const configurable = { ...body.config?.configurable };
  return {
    input: body.input ?? null,
    command: body.command ?? null,
    config: {
      ...body.config,
      metadata: { created_by: 'system', ...body.metadata, ...body.config?.metadata },
      configurable: {
        user_id: '',
        ...configurable,
        run_id: ids.runId,
        graph_id: ids.graphId,
        thread_id: ids.threadId,
        assistant_id: ids.assistantId,
        checkpoint_id:
          body.checkpoint_id ?? checkpoint?.checkpoint_id ?? configurable['checkpoint_id'] ?? null,
        ...(checkpoint?.checkpoint_ns != null && { checkpoint_ns: checkpoint.checkpoint_ns }),
        ...(checkpoint?.checkpoint_map != null && { checkpoint_map: checkpoint.checkpoint_map }),
      } as Record<string, unknown>,
    },
    context: (body.context ?? null) as Record<string, unknown> | null,
    webhook: body.webhook ?? null,
    temporary: ids.stateless,
    stream_mode: body.stream_mode as string[],
    feedback_keys: body.feedback_keys,
    interrupt_after: body.interrupt_after ?? null,
    interrupt_before: body.interrupt_before ?? null,
    subgraphs: body.stream_subgraphs,
    resumable: body.stream_resumable,
    durability: body.durability ?? (body.checkpoint_during === false ? 'exit' : null),
    timeout: body.timeout ?? null,
  };
}
