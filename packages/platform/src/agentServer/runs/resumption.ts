import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';

import type { CompiledGraph } from '../graphs/compiledGraph.ts';
import type { CheckpointStore } from '../store/checkpointStore.ts';
import type { RunFootprint } from '../store/runFootprint.ts';
import type { LiveRun } from './liveRun.ts';
import type { Kwargs } from './newRun.ts';

/**
 * Where an attempt of a run enters its graph. `start`: with the run's own input or command. `resume`: from its last
 * checkpoint; what nodes had finished there is kept, so only those that were cut run again. `over`: not at all, there
 * is nothing left to do.
 */
export type Entry = 'start' | 'resume' | 'over';

/**
 * Finds out where an attempt enters. A first attempt starts. A further one resumes where the run's own last checkpoint
 * is; a run that had not written one starts again, and what is left of its command is taken back first.
 */
export async function entryOf(
  live: LiveRun,
  kwargs: Kwargs,
  graph: CompiledGraph,
  stores: { checkpoints: CheckpointStore; footprint: RunFootprint },
): Promise<Entry> {
  if (live.record.attempt <= 1 || graph.checkpointer === false) return 'start';
  const newest = await stores.checkpoints.getTuple({
    configurable: { thread_id: live.threadId, checkpoint_ns: '' },
  });
  if (newest !== undefined && ownerOf(newest) === live.runId) {
    return (await waitsForSomebody(graph, newest, kwargs)) ? 'over' : 'resume';
  }
  if (kwargs.command === null || (await stores.footprint.rollBackCommand(live.record))) return 'start';
  live.stop('lost');
  return 'over';
}

function ownerOf(tuple: CheckpointTuple): unknown {
  return (tuple.metadata as Record<string, unknown> | undefined)?.['run_id'];
}

/**
 * Whether the run had come to one of its `interrupt_before` or `interrupt_after` nodes, and only its end was not stored
 * any more: LangGraph takes a run that is resumed without an input as told to go on, and would pass the place where a
 * person is to look. This is LangGraph's own rule: something is new since the last interrupt, and the node is named.
 */
async function waitsForSomebody(
  graph: CompiledGraph,
  tuple: CheckpointTuple,
  kwargs: Kwargs,
): Promise<boolean> {
  const before = kwargs.interrupt_before ?? graph.interruptBefore ?? [];
  const after = kwargs.interrupt_after ?? graph.interruptAfter ?? [];
  if (before.length === 0 && after.length === 0) return false;
  // A node has begun from here: the place was passed.
  if ((tuple.pendingWrites ?? []).length > 0) return false;
  const { channel_versions: versions, versions_seen: seen } = tuple.checkpoint;
  const interrupted = seen['__interrupt__'] ?? {};
  const isNew = Object.entries(versions).some(([channel, version]) => {
    const known = interrupted[channel];
    return known === undefined || version > known;
  });
  if (!isNew) return false;
  const { next } = await graph.getState(tuple.config);
  if (namesOneOf(before, next)) return true;
  if (after.length === 0 || tuple.parentConfig === undefined || tuple.metadata?.source !== 'loop')
    return false;
  const parent = await graph.getState(tuple.parentConfig);
  return (
    next.length > 0 &&
    namesOneOf(
      after,
      parent.tasks.map((task) => task.name),
    )
  );
}

function namesOneOf(nodes: readonly string[] | '*', names: readonly string[]): boolean {
  return nodes === '*' ? names.length > 0 : names.some((name) => nodes.includes(name));
}
