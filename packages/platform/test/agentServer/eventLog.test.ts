import { describe, expect, it } from 'vitest';

import { EventLog } from '../../src/agentServer/runs/eventLog.ts';
import type { EventStore, StreamEvent } from '../../src/agentServer/store/eventStore.ts';

/** An in-memory store that answers on the test's command. */
function storeInMemory(kept: StreamEvent[] = []) {
  let events = [...kept];
  const calls: { count: number; answer: (held?: boolean) => void; fail: (error: Error) => void }[] = [];
  const store = {
    append: (_: unknown, added: readonly StreamEvent[], dropThrough: number) =>
      new Promise<boolean>((resolve, reject) => {
        calls.push({
          count: added.length,
          answer: (held = true) => {
            if (held) events = [...events, ...added].filter(({ id }) => id > dropThrough);
            resolve(held);
          },
          fail: reject,
        });
      }),
    storedSizes: () => Promise.resolve(events.map(({ id, data }) => ({ id, bytes: data.length }))),
  };
  return { store: store as unknown as EventStore, calls, ids: () => events.map(({ id }) => id) };
}

async function openLog(memory: ReturnType<typeof storeInMemory>, attempt = 1, keptBytes = 1_000) {
  const delivered: StreamEvent[] = [];
  let lost = 0;
  const log = await EventLog.open({
    store: memory.store,
    fence: { runId: 'r', attempt, owner: 'o' },
    lease: { isHeld: true },
    onRunLost: () => lost++,
    sendToReaders: (event) => delivered.push(event),
    maxStoredBytes: keptBytes,
    maxPendingBytes: 10,
  });
  return { log, delivered, lost: () => lost };
}

describe('the log of a resumable run', () => {
  it('delivers an event after it is stored, and stores waiting events in one batch', async () => {
    const memory = storeInMemory();
    const { log, delivered } = await openLog(memory);
    for (const data of ['1', '2', '3']) log.publish('values', data);
    expect(delivered).toEqual([]);
    memory.calls[0]?.answer();
    await expect.poll(() => memory.calls.length).toBe(2);
    expect(delivered.map(({ id }) => id)).toEqual([1]);
    expect(memory.calls[1]?.count).toBe(2);
    memory.calls[1]?.answer();
    await log.waitUntilStored();
    expect(delivered.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('of an attempt that began without it continues after the events that readers received', async () => {
    const memory = storeInMemory([{ id: 7, event: 'values', data: '7' }]);
    const delivered: number[] = [];
    let sent = 11;
    const log = await EventLog.open({
      store: memory.store,
      fence: { runId: 'r', attempt: 2, owner: 'o' },
      lease: { isHeld: true },
      onRunLost: () => undefined,
      sendToReaders: ({ id }) => delivered.push(id),
      lastSentId: () => sent,
    });
    sent = 12;
    log.publish('values', '13');
    log.publish('values', '14');
    memory.calls[0]?.answer();
    await expect.poll(() => memory.calls.length).toBe(2);
    memory.calls[1]?.answer();
    await log.waitUntilStored();
    expect(delivered).toEqual([13, 14]);
  });

  it('continues after an earlier attempt, and marks a new attempt', async () => {
    const memory = storeInMemory([{ id: 7, event: 'values', data: '7' }]);
    const { log, delivered } = await openLog(memory, 2);
    memory.calls[0]?.answer();
    await log.waitUntilStored();
    expect(delivered).toEqual([{ id: 8, event: 'metadata', data: '{"run_id":"r","attempt":2}' }]);
  });

  it('keeps at most its limit, and drops the oldest', async () => {
    const memory = storeInMemory();
    const { log } = await openLog(memory, 1, 10);
    for (let id = 1; id <= 4; id++) {
      log.publish('values', '1234');
      memory.calls.at(-1)?.answer();
      await log.waitUntilStored();
    }
    expect(memory.ids()).toEqual([3, 4]);
  });

  it('keeps the newest event, also one above its limit', async () => {
    const memory = storeInMemory();
    const { log } = await openLog(memory, 1, 10);
    for (const data of ['1', '23456789012345']) log.publish('values', data);
    for (const call of [0, 1]) {
      await expect.poll(() => memory.calls.length).toBe(call + 1);
      memory.calls[call]?.answer();
    }
    await log.waitUntilStored();
    expect(memory.ids()).toEqual([2]);
  });

  it('delivers nothing after another process takes the run', async () => {
    const memory = storeInMemory();
    const { log, delivered, lost } = await openLog(memory);
    log.publish('values', '1');
    memory.calls[0]?.answer(false);
    await log.waitUntilStored();
    expect([delivered, lost()]).toEqual([[], 1]);
  });

  it('stores after a database outage what it could not store before', async () => {
    const memory = storeInMemory();
    const { log, delivered } = await openLog(memory);
    log.publish('values', '1');
    memory.calls[0]?.fail(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    await expect.poll(() => memory.calls.length).toBe(2);
    memory.calls[1]?.answer();
    await log.waitUntilStored();
    expect(delivered.map(({ id }) => id)).toEqual([1]);
  });

  it('slows down a run that is faster than the database', async () => {
    const memory = storeInMemory();
    const { log } = await openLog(memory);
    log.publish('values', '1');
    await log.waitForCapacity();
    log.publish('values', '2345678901234567890');
    let room = false;
    const waits = log.waitForCapacity().then(() => (room = true));
    await Promise.resolve();
    expect(room).toBe(false);
    memory.calls[0]?.answer();
    await expect.poll(() => memory.calls.length).toBe(2);
    memory.calls[1]?.answer();
    await waits;
  });
});
