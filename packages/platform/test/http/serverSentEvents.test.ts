import { Context } from 'hono';
import { describe, expect, it } from 'vitest';

import { eventStreamResponse, longJsonResponse } from '../../src/http/serverSentEvents.ts';
import { EventChannel } from '../../src/agentServer/runs/eventChannel.ts';

const text = new TextDecoder();
const context = new Context(new Request('http://x'));

async function readUntil(response: Response, wanted: string): Promise<string> {
  let read = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    read += text.decode(chunk);
    if (read.includes(wanted)) return read;
  }
  return read;
}

describe('long answers', () => {
  it('send keep-alives while a stream is silent', async () => {
    const channel = new EventChannel();
    const subscriber = channel.subscribe();
    subscriber.startReading([]);
    const response = eventStreamResponse(context, subscriber, {
      onDisconnect: () => undefined,
      keepAliveMs: 5,
    });
    expect(response.headers.get('content-type')).toMatch('text/event-stream');
    expect(await readUntil(response, 'heartbeat')).toBe(': heartbeat\n\n');
  });

  it('detect a client that leaves a stream, and keep nothing for it', async () => {
    const channel = new EventChannel();
    const subscriber = channel.subscribe();
    subscriber.startReading([]);
    let left = 0;
    const response = eventStreamResponse(context, subscriber, { onDisconnect: () => left++ });
    await response.body?.cancel();
    channel.publish('values', '1');
    expect(left).toBe(1);
    expect(subscriber.queuedBytes).toBe(0);
  });

  it('begin immediately and stay valid JSON for any duration', async () => {
    let finish: (json: string) => void = () => undefined;
    const json = new Promise<string>((resolve) => (finish = resolve));
    const response = longJsonResponse(context, json, { onDisconnect: () => undefined, keepAliveMs: 5 });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let read = '';
    while (read.length < 4) read += text.decode((await reader.read()).value);
    finish('{"a":1}');
    for (let part = await reader.read(); !part.done; part = await reader.read())
      read += text.decode(part.value);
    expect(JSON.parse(read)).toEqual({ a: 1 });
  });

  it('detect a client that leaves before the end, and none after it', async () => {
    let left = 0;
    const pending = longJsonResponse(context, new Promise(() => undefined), { onDisconnect: () => left++ });
    await pending.body?.cancel();
    expect(left).toBe(1);
    const done = longJsonResponse(context, Promise.resolve('1'), { onDisconnect: () => left++ });
    expect(await done.json()).toBe(1);
    expect(left).toBe(1);
  });
});
