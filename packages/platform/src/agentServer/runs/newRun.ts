import { randomUUID } from 'node:crypto';

import { disconnectMode, type FollowQuery, type RunCreate } from '@slipway/contract/runApi/run';
import type { RunRecord } from '../store/agentDatabase.ts';
import type { AssistantRecord } from '../store/assistantStore.ts';
import type { ThreadMarks } from '../store/runEnds.ts';
import type { NewRun } from '../store/runStore.ts';

/** A run to accept, with the options of its request. */
export interface RunPlan {
  readonly newRun: NewRun;
  readonly cancelOnDisconnect: boolean;
}

/** How a run was requested (contract 001, "Run": `kwargs`), with what the server needs besides. */
export type Kwargs = ReturnType<typeof kwargsOf>;

/**
 * Makes a run from a request. Without `threadId` it is stateless (contract 001, rule 5), unless it asks to keep its own
 * thread. The assistant's configuration fills in what the request leaves out. `runSeconds` is the longest time that it may
 * execute.
 */
export function planRun(options: {
  body: RunCreate;
  query: FollowQuery;
  assistant: AssistantRecord;
  threadId: string | undefined;
  runSeconds: number;
}): RunPlan {
  const { body, assistant } = options;
  const runId = randomUUID();
  const isThreadNew = options.threadId === undefined;
  const stateless = isThreadNew && body.on_completion !== 'keep';
  const threadId = options.threadId ?? randomUUID();
  const { assistant_id: assistantId } = assistant;
  const kwargs = kwargsOf(body, assistant, { runId, threadId, stateless, runSeconds: options.runSeconds });
  const newRun: NewRun = {
    runId,
    threadId,
    assistantId,
    metadata: { ...body.metadata },
    kwargs,
    marks: marksOf({ kwargs, assistant_id: assistantId }),
    multitaskStrategy: body.multitask_strategy,
    stateless,
    createsThread: !stateless && (isThreadNew || body.if_not_exists === 'create'),
    delaySeconds: body.after_seconds ?? 0,
  };
  return { newRun, cancelOnDisconnect: disconnectMode(options.query, body) === 'cancel' };
}

function kwargsOf(
  body: RunCreate,
  assistant: AssistantRecord,
  run: { runId: string; threadId: string; stateless: boolean; runSeconds: number },
) {
  const { checkpoint } = body;
  const preset = presetOf(body, assistant);
  const { configurable } = preset;
  return {
    input: body.input ?? null,
    command: body.command ?? null,
    config: {
      ...preset,
      metadata: { created_by: 'system', ...preset.metadata, ...body.metadata, ...body.config?.metadata },
      configurable: {
        user_id: '',
        ...configurable,
        run_id: run.runId,
        graph_id: assistant.graph_id,
        thread_id: run.threadId,
        assistant_id: assistant.assistant_id,
        checkpoint_id:
          body.checkpoint_id ?? checkpoint?.checkpoint_id ?? configurable['checkpoint_id'] ?? null,
        ...(checkpoint?.checkpoint_ns != null && { checkpoint_ns: checkpoint.checkpoint_ns }),
        ...(checkpoint?.checkpoint_map != null && { checkpoint_map: checkpoint.checkpoint_map }),
      } as Record<string, unknown>,
    },
    // A run that waits gives it to its thread when it begins.
    thread_config: preset,
    context: contextOf(body.context, assistant.context),
    webhook: body.webhook ?? null,
    temporary: run.stateless,
    stream_mode: body.stream_mode as string[],
    feedback_keys: body.feedback_keys,
    interrupt_after: body.interrupt_after ?? null,
    interrupt_before: body.interrupt_before ?? null,
    subgraphs: body.stream_subgraphs,
    resumable: body.stream_resumable,
    durability: body.durability ?? (body.checkpoint_during === false ? 'exit' : null),
    timeout: Math.min(body.timeout ?? run.runSeconds, run.runSeconds),
  };
}

/** What a run gives its thread: {@link presetOf}, with its graph and assistant. */
export function marksOf(run: Pick<RunRecord, 'kwargs' | 'assistant_id'>): ThreadMarks {
  const { config, thread_config: threadConfig } = run.kwargs as Kwargs;
  return {
    origin: JSON.stringify({
      graph_id: config.configurable['graph_id'],
      assistant_id: run.assistant_id,
    }),
    config: JSON.stringify(threadConfig),
  };
}

/** The assistant's configuration, overridden by the request's. */
function presetOf(body: RunCreate, assistant: AssistantRecord) {
  const preset = assistant.config as NonNullable<RunCreate['config']>;
  return {
    ...preset,
    ...body.config,
    metadata: { ...preset.metadata, ...body.config?.metadata } as Record<string, unknown>,
    configurable: withoutReserved({ ...preset.configurable, ...body.config?.configurable }),
  };
}

/** Clients cannot set keys that begin with `__`: LangGraph and this server use them. */
function withoutReserved(configurable: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(configurable).filter(([key]) => !key.startsWith('__')));
}

/** The assistant's context, overridden by the request's; null if neither has one. */
function contextOf(given: unknown, preset: Record<string, unknown>): Record<string, unknown> | null {
  if (given == null) return Object.keys(preset).length > 0 ? preset : null;
  // The graph validates a context that is no object.
  if (typeof given !== 'object' || Array.isArray(given)) return given as Record<string, unknown>;
  return { ...preset, ...given };
}
