import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { describe, expect, it, vi } from 'vitest';

import { ThreadStates } from '../../src/agentServer/graphs/threadStates.ts';
import { CheckpointStore } from '../../src/agentServer/store/checkpointStore.ts';

const PARENT = '1f1ecb47-a313-6670-8001-6c76154b9cfe';
const THREAD = crypto.randomUUID();

it.each([
  ['an hour before', '1f1ecac1-8f6e-6600-8004-5728b1621a1e', false],
  ['a millisecond before', '1f1ecb47-a312-6f60-8002-ffffffffffff', false],
  // The rest of an id has no order.
  ['in the same moment as', '1f1ecb47-a313-6670-8000-000000000000', true],
  ['after', '1f1ecb47-b222-6620-8002-ca36d712a94e', true],
])('a state that is made %s the one that it follows is stored: %s, %s', async (_, id, isStored) => {
  const pool = { query: () => Promise.resolve({ rows: [{ held: true }] }) };
  const store = new CheckpointStore(pool as never, 'd');
  const config = { configurable: { thread_id: THREAD, checkpoint_ns: '', checkpoint_id: PARENT } };
  const put = store.put(config, { ...emptyCheckpoint(), id }, { source: 'loop', step: 1, parents: {} }, {});
  if (isStored) expect(await put).toMatchObject({ configurable: { checkpoint_id: id } });
  else await expect(put).rejects.toMatchObject({ name: 'ClockBehind', status: 503 });
});

describe.each([
  ['is behind the newest state', '2f1ecb47-a313-6670-8001-6c76154b9cfe', true],
  ['is not', '1e1ecb47-a313-6670-8001-6c76154b9cfe', false],
])('while the clock %s, %s', (_, newest, isBehind) => {
  const pool = { query: () => Promise.resolve({ rows: [{ held: true }] }) };
  const store = new CheckpointStore(pool as never, 'd');
  vi.spyOn(store, 'getTuple').mockImplementation(({ configurable }) => {
    const id = (configurable?.['checkpoint_id'] as string | undefined) ?? newest;
    return Promise.resolve({ config: {}, checkpoint: { ...emptyCheckpoint(), id } });
  });
  const expectRefusal = async (branching: Promise<unknown>) => {
    if (isBehind) await expect(branching).rejects.toMatchObject({ name: 'ClockBehind', status: 503 });
    else await branching;
  };

  it(`a run from an earlier state is refused: ${isBehind}`, () =>
    expectRefusal(store.requireCheckpoint({ thread_id: THREAD, checkpoint_id: PARENT })));

  it(`an update of an earlier state is refused: ${isBehind}`, async () => {
    const updateState = vi.fn(() => Promise.resolve({}));
    const getState = () => Promise.resolve({ values: {}, next: [], tasks: [], createdAt: 'then' });
    const graph = { checkpointer: store, getState, updateState };
    const states = new ThreadStates(
      { get: () => Promise.resolve({ status: 'idle', metadata: { graph_id: 'g' }, config: {} }) } as never,
      { getGraph: () => ({ name: 'g', resolve: () => Promise.resolve(graph) }) } as never,
      store,
    );
    await expectRefusal(states.update(THREAD, { values: {}, asNode: 'a', checkpoint_id: PARENT }));
    expect(updateState).toHaveBeenCalledTimes(isBehind ? 0 : 1);
  });
});
