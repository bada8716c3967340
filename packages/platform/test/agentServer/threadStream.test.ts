import { describe, expect, it } from 'vitest';

import { EventChannel } from '../../src/agentServer/runs/eventChannel.ts';
import { type ThreadSource, ThreadStream } from '../../src/agentServer/runs/threadStream.ts';
import type { RunRecord } from '../../src/agentServer/store/agentDatabase.ts';

const MIB = 1_048_576;

/** A thread whose runs are only channels. */
function threadOf() {
  const channels = new Map<string, EventChannel>();
  const runs: RunRecord[] = [];
  let hearer: Parameters<ThreadSource['onNewRun']>[0] = () => undefined;
  let change: (isThere: boolean) => void = () => undefined;
  const run = (sequence: number, { heard = true } = {}): EventChannel => {
    const record = { run_id: `run-${sequence}`, sequence: String(sequence), start_after: null } as RunRecord;
    const channel = new EventChannel();
    channels.set(record.run_id, channel);
    runs.push(record);
    if (heard) hearer({ record });
    return channel;
  };
  const sight: ThreadSource = {
    onNewRun: (given) => {
      hearer = given;
      return () => (hearer = () => undefined);
    },
    newestSequence: () => Promise.resolve(0n),
    activeRuns: () => Promise.resolve([]),
    runsAfter: (sequence) =>
      Promise.resolve(runs.filter((each) => BigInt(each.sequence) > sequence).slice(0, 2)),
    openRunStream: (record) => {
      const reader = channels.get(record.run_id)!.subscribe();
      reader.startReading([]);
      return Promise.resolve(reader);
    },
    waitForChange: () => new Promise((resolve) => (change = resolve)),
    readState: () => Promise.resolve({ json: '{}', checkpointId: null }),
  };
  return { sight, run, change: (isThere: boolean) => change(isThere) };
}

async function read(stream: ThreadStream): Promise<string | undefined> {
  const frame = await stream.next();
  return frame && new TextDecoder().decode(frame);
}

describe('the stream of a thread', () => {
  it('bounds what it buffers for a slow reader, over all of its runs', async () => {
    const { sight, run } = threadOf();
    const stream = await new ThreadStream(sight, ['run_modes']).start(undefined);
    for (const sequence of [1, 2]) {
      const channel = run(sequence);
      await Promise.resolve();
      for (let mib = 0; mib < 7; mib++) channel.publish('custom', JSON.stringify('x'.repeat(MIB)));
      channel.close();
    }
    run(3);
    expect(await read(stream)).toContain('SlowReader');
    expect(await read(stream)).toBeUndefined();
  });

  it('delivers all runs that a reader missed, though one query returns only some', async () => {
    const { sight, run } = threadOf();
    for (const sequence of [1, 2, 3, 4, 5]) run(sequence, { heard: false }).close();
    const stream = await new ThreadStream(sight, ['lifecycle']).start('0.0');
    run(6).close();
    for (const sequence of [1, 2, 3, 4, 5, 6]) expect(await read(stream)).toContain(`id: ${sequence}.end`);
    stream.close();
  });

  it('delivers the runs in order, each to its end, with ids that name run and event', async () => {
    const { sight, run, change } = threadOf();
    const stream = await new ThreadStream(sight, ['run_modes']).start(undefined);
    // The first one ran in another process: it is found when the thread has changed.
    const elsewhere = run(1, { heard: false });
    change(true);
    const first = read(stream);
    await Promise.resolve();
    const here = run(2);
    setImmediate(() => {
      here.publish('custom', '2');
      here.close();
      elsewhere.publish('custom', '1');
      elsewhere.close();
    });
    const told = [await first, await read(stream), await read(stream), await read(stream)];
    expect(told.map((frame) => /^id: (.*)$/m.exec(frame ?? '')?.[1])).toEqual([
      '1.1',
      '1.end',
      '2.1',
      '2.end',
    ]);
  });

  it('ends when the thread is removed', async () => {
    const { sight, change } = threadOf();
    const stream = await new ThreadStream(sight, ['run_modes']).start(undefined);
    const end = read(stream);
    change(false);
    expect(await end).toBeUndefined();
  });
});
