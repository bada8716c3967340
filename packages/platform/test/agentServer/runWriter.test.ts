import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { describe, expect, it } from 'vitest';

import { type CompiledGraph, usesDefaultStart } from '../../src/agentServer/graphs/compiledGraph.ts';
import { ATTEMPT_KEY, CheckpointStore, RunEndedHere } from '../../src/agentServer/store/checkpointStore.ts';
import type { CheckpointRows } from '../../src/agentServer/store/fencedWrites.ts';
import { RunWriter } from '../../src/agentServer/store/runWriter.ts';

/** A writer whose statements are answered on the test's command. */
function writerUnderTest(startsAsPlainly: boolean) {
  const statements: { ids: string[]; answer: (held: boolean) => void }[] = [];
  let lost = 0;
  const fence = { runId: 'r', attempt: 1, owner: 'o' };
  const writer = new RunWriter(
    { threadId: 't', fence, lease: { isHeld: true }, onRunLost: () => lost++, isThreadEmpty: true },
    (rows) =>
      new Promise((answer) => {
        const ids = [...rows.checkpoints.map(({ id }) => id), ...rows.writes.map(({ taskId }) => taskId)];
        statements.push({ ids, answer });
      }),
  );
  writer.usesDefaultStart = startsAsPlainly;
  return { writer, statements, lost: () => lost };
}

const checkpoint = (id: string, parentId?: string): CheckpointRows => {
  const row = { namespace: '', id, parentId, checkpoint: {}, metadata: {}, isInput: parentId === undefined };
  return { threadId: 't', checkpoints: [row], values: [], writes: [] };
};
const write = (taskId: string, checkpointId: string): CheckpointRows => {
  const row = { namespace: '', checkpointId, taskId, index: 0, channel: 'c', type: 'json' };
  return {
    threadId: 't',
    checkpoints: [],
    values: [],
    writes: [{ ...row, blob: new Uint8Array(), replaces: false }],
  };
};

describe('the writes of a run', () => {
  it('are buffered until a node has written; then one statement stores everything, in order', async () => {
    const { writer, statements } = writerUnderTest(true);
    await writer.store(checkpoint('input'));
    await writer.store(write('start', 'input'));
    await writer.store(checkpoint('entry', 'input'));
    let stored = false;
    const node = writer.store(write('node', 'entry')).then(() => (stored = true));
    await expect.poll(() => statements.length).toBe(1);
    expect(statements[0]?.ids).toEqual(['input', 'entry', 'start', 'node']);
    expect(stored).toBe(false);
    statements[0]?.answer(true);
    await node;
    expect(await writer.waitUntilSettled()).toBeUndefined();
  });

  it('are stored from the input on if the first step may be the agent’s code', async () => {
    const { writer, statements } = writerUnderTest(false);
    let stored = false;
    const input = writer.store(checkpoint('input')).then(() => (stored = true));
    await expect.poll(() => statements.length).toBe(1);
    expect(stored).toBe(false);
    statements[0]?.answer(true);
    await input;
  });

  it('end when another process takes the run, also the buffered ones', async () => {
    const { writer, statements, lost } = writerUnderTest(true);
    await writer.store(checkpoint('input'));
    await expect.poll(() => statements.length).toBe(1);
    statements[0]?.answer(false);
    await expect(writer.store(write('node', 'entry'))).rejects.toThrow('is executed elsewhere');
    expect(await writer.waitUntilSettled()).toBeInstanceOf(Error);
    expect([lost(), statements.length]).toEqual([1, 1]);
  });

  it('are readable by the run itself', async () => {
    const { writer, statements } = writerUnderTest(true);
    expect(await writer.read('t', () => Promise.resolve('read'))).toBeUndefined();
    await writer.store(checkpoint('input'));
    const read = writer.read('t', () => Promise.resolve('read'));
    await expect.poll(() => statements.length).toBe(1);
    statements[0]?.answer(true);
    expect(await read).toBe('read');
  });
});

it('a graph has a plain start unless conditional edges decide it', () => {
  const State = Annotation.Root({ a: Annotation<number>() });
  const node = () => new StateGraph(State).addNode('node', () => ({ a: 1 })).addEdge('node', END);
  const plain = node().addEdge(START, 'node').compile();
  const routed = node()
    .addConditionalEdges(START, () => 'node')
    .compile();
  expect([plain, routed].map((graph) => usesDefaultStart(graph as unknown as CompiledGraph))).toEqual([
    true,
    false,
  ]);
  expect(usesDefaultStart({} as CompiledGraph)).toBe(false);
});

it('a lost attempt that ends does not stop the writes of the further attempt in its process', async () => {
  const pool = { query: () => Promise.resolve({ rows: [{ held: true }] }) };
  const store = new CheckpointStore(pool as never, 'd');
  const begin = (attempt: number) => {
    const fence = { runId: 'r', attempt, owner: 'o' };
    const options = { lease: { isHeld: true }, onRunLost: () => undefined, isThreadEmpty: true };
    const writer = store.openWriter({ threadId: 't', fence, ...options });
    const configurable = { thread_id: 't', checkpoint_id: 'c', [ATTEMPT_KEY]: attempt };
    const write = () =>
      store.putWrites({ configurable, metadata: { run_id: 'r' } }, [['channel', 'value']], 'task');
    return { writer, write };
  };
  const [lost, further] = [begin(1), begin(2)];
  await store.closeWriter(lost.writer);
  await further.write();
  await expect(lost.write()).rejects.toThrow(RunEndedHere);
  await store.closeWriter(further.writer);
  await expect(further.write()).rejects.toThrow(RunEndedHere);
});
