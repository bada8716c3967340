import { describe, expect, it } from 'vitest';

import { EventChannel, type Subscriber } from '../../src/agentServer/runs/eventChannel.ts';

const text = new TextDecoder();

/** A reader's events until the end, or until no more are queued. */
async function read(subscriber: Subscriber): Promise<string[]> {
  const frames: string[] = [];
  while (subscriber.queuedBytes > 0) frames.push(text.decode(await subscriber.next()));
  return frames;
}

function join(channel: EventChannel, options: Parameters<EventChannel['subscribe']>[0] = {}): Subscriber {
  const subscriber = channel.subscribe(options);
  subscriber.startReading([]);
  return subscriber;
}

const frame = (id: number, event: string, data: string) => `event: ${event}\nid: ${id}\ndata: ${data}\n\n`;

describe('an event channel', () => {
  it('delivers to each reader the events published after it subscribed', async () => {
    const channel = new EventChannel();
    const early = join(channel);
    channel.publish('values', '1');
    const late = join(channel);
    channel.publish('updates|sub:1', '2');
    channel.close();
    expect(await read(early)).toEqual([frame(1, 'values', '1'), frame(2, 'updates|sub:1', '2')]);
    expect(await read(late)).toEqual([frame(2, 'updates|sub:1', '2')]);
    expect(await join(channel).next()).toBeUndefined();
  });

  it('delivers the initial events of a stream before events that arrived meanwhile', async () => {
    const channel = new EventChannel();
    const subscriber = channel.subscribe();
    channel.publish('values', '1');
    const first = subscriber.next();
    subscriber.startReading([new TextEncoder().encode('first')]);
    expect(text.decode(await first)).toBe('first');
    expect(await read(subscriber)).toEqual([frame(1, 'values', '1')]);
  });

  it('drops events that arrived meanwhile if the initial events contain them', async () => {
    const channel = new EventChannel();
    const subscriber = channel.subscribe();
    for (const id of [4, 5, 6]) channel.publish('values', String(id), id);
    subscriber.startReading([new TextEncoder().encode('1 to 5')], 5);
    expect(await read(subscriber)).toEqual(['1 to 5', frame(6, 'values', '6')]);
  });

  it('delivers buffered events before it disconnects', async () => {
    const channel = new EventChannel();
    const subscriber = join(channel);
    channel.publish('values', '1');
    channel.close(new Error('It goes on elsewhere.'));
    expect(text.decode(await subscriber.next())).toBe(frame(1, 'values', '1'));
    await expect(subscriber.next()).rejects.toThrow('elsewhere');
  });

  it('drops events that a reader did not request', async () => {
    const channel = new EventChannel();
    const subscriber = join(channel, { accepts: (event) => event === 'values' });
    channel.publish('updates', '1');
    channel.publish('values', '2');
    expect(await read(subscriber)).toEqual([frame(2, 'values', '2')]);
  });

  it('disconnects only the reader that falls too far behind', async () => {
    const channel = new EventChannel({ readerBytes: 100 });
    const slow = join(channel);
    const quick = join(channel);
    const received: string[] = [];
    for (let index = 0; index < 50; index++) {
      channel.publish('custom', String(index));
      received.push(...(await read(quick)));
      expect(slow.queuedBytes).toBeLessThan(400);
    }
    channel.close();
    expect(received).toHaveLength(50);
    const kept = await read(slow);
    expect(kept.length).toBeLessThan(10);
    expect(kept.at(-1)).toContain('"error":"SlowReader"');
  });

  it('delivers an event that is larger than what may wait to a reader that is not behind', async () => {
    const channel = new EventChannel({ readerBytes: 100 });
    const subscriber = join(channel);
    const large = JSON.stringify('x'.repeat(200));
    channel.publish('values', large);
    expect(await read(subscriber)).toEqual([frame(1, 'values', large)]);
  });

  it('does not disconnect a returning reader for the events that it has missed', async () => {
    const channel = new EventChannel({ readerBytes: 100 });
    const subscriber = channel.subscribe();
    const missed = frame(1, 'values', JSON.stringify('x'.repeat(200)));
    subscriber.startReading([new TextEncoder().encode(missed)], 1);
    channel.publish('values', '2', 2);
    expect(await read(subscriber)).toEqual([missed, frame(2, 'values', '2')]);
  });

  it('keeps nothing for a reader that left', async () => {
    const channel = new EventChannel();
    const subscriber = join(channel);
    channel.publish('values', '1');
    subscriber.close();
    channel.publish('values', '2');
    expect(subscriber.queuedBytes).toBe(0);
    expect(await subscriber.next()).toBeUndefined();
  });

  it('wakes a waiting reader on an event, and at the end', async () => {
    const channel = new EventChannel();
    const subscriber = join(channel);
    const next = subscriber.next();
    channel.publish('values', '1');
    expect(text.decode(await next)).toBe(frame(1, 'values', '1'));
    const end = subscriber.next();
    channel.close();
    expect(await end).toBeUndefined();
  });
});
