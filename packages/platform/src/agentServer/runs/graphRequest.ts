import { Command, Send } from '@langchain/langgraph';

import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import type { ExecutionRequest } from '../graphs/graphExecution.ts';
import { ATTEMPT_KEY } from '../store/checkpointStore.ts';
import type { LiveRun } from './liveRun.ts';
import type { Kwargs } from './newRun.ts';
import type { Entry } from './resumption.ts';

/** What a run's `kwargs` say to LangGraph, where its attempt enters the graph. */
export function requestFor(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  entry: Exclude<Entry, 'over'>,
): ExecutionRequest {
  const { metadata, configurable, tags, recursion_limit: recursionLimit, ...rest } = kwargs.config;
  const { checkpoint_id: checkpointId, checkpoint_map: checkpointMap, ...addressed } = configurable;
  // A resumed run goes on from its own newest checkpoint, wherever it had branched off.
  const branch = entry === 'resume' ? {} : { checkpoint_id: checkpointId, checkpoint_map: checkpointMap };
  const input = kwargs.command === null ? kwargs.input : toCommand(kwargs.command);
  const origin = {
    user_id: addressed['user_id'],
    run_id: live.runId,
    graph_id: addressed['graph_id'],
    thread_id: live.threadId,
    assistant_id: addressed['assistant_id'],
  };
  return {
    graph,
    input: entry === 'resume' ? null : input,
    streamModes: kwargs.stream_mode,
    subgraphs: kwargs.subgraphs,
    options: {
      ...rest,
      // LangGraph takes the mere presence of a checkpoint id, null included, as a wish to replay from there.
      configurable: { ...addressed, ...withoutNulls(branch), [ATTEMPT_KEY]: live.record.attempt },
      metadata: { ...metadata, ...origin },
      runId: live.runId,
      signal: live.signal,
      ...(tags != null && { tags }),
      ...(recursionLimit != null && { recursionLimit }),
      ...(kwargs.context !== null && { context: kwargs.context }),
      ...(kwargs.interrupt_before !== null && { interruptBefore: kwargs.interrupt_before }),
      ...(kwargs.interrupt_after !== null && { interruptAfter: kwargs.interrupt_after }),
      // Decision: a step is stored before the next one begins, unless the request says otherwise. What was stored is
      // what a killed run does not do again; the price is one statement's time per step.
      durability: kwargs.durability ?? 'sync',
    },
  };
}

function withoutNulls(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
}

function toCommand(command: NonNullable<Kwargs['command']>): Command {
  const { update, resume, goto } = command;
  const steps = goto == null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(update != null && { update: update }),
    ...(resume !== undefined && resume !== null && { resume }),
    ...(steps.length > 0 && {
      goto: steps.map((step) => (typeof step === 'string' ? step : new Send(step.node, step.input))),
    }),
  });
}
