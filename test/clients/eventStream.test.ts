import type { ServerResponse } from 'node:http';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { EventStream, ServerEvent } from '../../src/clients/eventStream.ts';
import { createRunApiClient, type RunApiClient } from '../../src/clients/runApi.ts';
import type { ServiceOptions } from '../../src/clients/service.ts';
import { type FaultyService, startService, startSocketService, until } from './faultyService.ts';

const THREAD = '33333333-3333-4333-8333-333333333333';
const BODY = { assistant_id: 'agent', input: {} };

const TEXT =
  ': a comment\n' +
  'event: metadata\ndata: {"run_id": "r", "attempt": 1}\nid: 1\n\n' +
  'event: messages\r\ndata: [{"content":\r\ndata: "größer 🚀"},\r\ndata: {}]\r\nid: 2\r\n\r\n' +
  ':\n\n' +
  'event:updates|sub:1\rdata:{"node":{}}\r\r' +
  'data: 7\n\n' +
  'event: end\ndata:\n\n' +
  'event: values\ndata: {"then": "no empty line"}\n';

const EVENTS: ServerEvent[] = [
  { event: 'metadata', data: { run_id: 'r', attempt: 1 } },
  { event: 'messages', data: [{ content: 'größer 🚀' }, {}] },
  { event: 'updates|sub:1', data: { node: {} } },
  { event: 'message', data: 7 },
  { event: 'end', data: null },
  { event: 'values', data: { then: 'no empty line' } },
];

function client(service: FaultyService, options: Partial<ServiceOptions> = {}): RunApiClient {
  const made = createRunApiClient({ baseUrl: service.url, apiKey: 'key', ...options });
  onTestFinished(() => made.close());
  return made;
}

/** @param data - collects the data of each event, even if the stream fails. */
async function collect(stream: EventStream, data: unknown[] = []): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    data.push(event.data);
  }
  return events;
}

function startStreaming(stream: (response: ServerResponse) => void): Promise<FaultyService> {
  return startService((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    stream(response);
  });
}

describe('A stream of server-sent events', () => {
  it('delivers each event once, parsed, with any split of the bytes', async () => {
    const bytes = Buffer.from(TEXT);
    let split = 0;
    const service = await startSocketService((socket) => {
      socket.setNoDelay(true);
      socket.once('data', () => {
        socket.write(
          'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
        );
        for (const part of [bytes.subarray(0, split), bytes.subarray(split)]) {
          if (part.length === 0) continue;
          socket.write(
            Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
          );
        }
        socket.end('0\r\n\r\n');
      });
    });
    const api = client(service);
    for (split = 0; split <= bytes.length; split += 1) {
      expect(await collect(await api.streamStatelessRun(BODY)), `split at byte ${split}`).toEqual(EVENTS);
    }
  });

  it('delivers the last event of lines that end in CR alone', async () => {
    const service = await startStreaming((response) => response.end('data: 1\r\rdata: 2\r\r'));
    expect(await collect(await client(service).streamStatelessRun(BODY))).toEqual([
      { event: 'message', data: 1 },
      { event: 'message', data: 2 },
    ]);
  });

  it('delivers events as they arrive, before the stream ends', async () => {
    const service = await startStreaming((response) => response.write('data: 1\n\n'));
    const stream = await client(service).streamStatelessRun(BODY);
    for await (const event of stream) {
      expect(event.data).toBe(1);
      break;
    }
    await until(() => service.open() === 0);
  });

  it('is read no faster than it is consumed', async () => {
    let written = 0;
    const event = `data: "${'x'.repeat(10_000)}"\n\n`;
    const service = await startStreaming((response) => {
      const more = (): void => {
        while (!response.destroyed && written < 400_000_000) {
          written += event.length;
          if (!response.write(event)) break;
        }
        response.once('drain', more);
      };
      more();
    });
    const stream = await client(service).streamStatelessRun(BODY);
    let seen = 0;
    let before = -1;
    for await (const _ of stream) {
      seen += 1;
      // Wait until backpressure stops the service: nothing more is written.
      while (before !== written) {
        before = written;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      if (seen === 3) break;
    }
    expect(written).toBeLessThan(50_000_000);
  });

  it('ends where its connection does, if an HTTP/1.0 service sends neither a length nor chunks', async () => {
    const service = await startSocketService((socket) => {
      socket.once('data', () =>
        socket.end('HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n'),
      );
    });
    expect(await collect(await client(service).streamStatelessRun(BODY))).toHaveLength(1);
  });

  it('has no time limit after it has begun', async () => {
    const service = await startStreaming((response) => {
      response.write('data: 1\n\n');
      setTimeout(() => response.end('data: 2\n\n'), 1_100);
    });
    const stream = await client(service).streamStatelessRun(BODY, { timeoutMs: 1_000 });
    expect((await collect(stream)).map(({ data }) => data)).toEqual([1, 2]);
  });
});

describe('A stream that fails', () => {
  it('ends with NO_ANSWER if the connection is lost, after the events that arrived', async () => {
    const service = await startStreaming((response) => {
      response.write('data: 1\n\ndata: 2', () => response.destroy());
    });
    const stream = await client(service).streamStatelessRun(BODY);
    const seen: unknown[] = [];
    await expect(collect(stream, seen)).rejects.toMatchObject({
      code: 'SLIPWAY_NO_ANSWER',
      mayHaveBeenTaken: true,
    });
    expect(seen).toEqual([1]);
  });

  it('ends with NO_ANSWER if it ends within an event', async () => {
    const service = await startStreaming((response) => response.end('data: 1\n\ndata: {"content":"par'));
    const data: unknown[] = [];
    const ended = collect(await client(service).streamStatelessRun(BODY), data);
    await expect(ended).rejects.toMatchObject({
      code: 'SLIPWAY_NO_ANSWER',
      message: expect.stringMatching(/: it ended within an event$/u) as string,
    });
    expect(data).toEqual([1]);
  });

  it('ends with NO_ANSWER if it does not begin in time', async () => {
    const service = await startService(() => undefined);
    const opening = client(service).streamStatelessRun(BODY, { timeoutMs: 1_000 });
    await expect(opening).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });

  it('ends when its signal aborts', async () => {
    const service = await startStreaming((response) => response.write('data: 1\n\n'));
    const giveUp = new AbortController();
    const stream = await client(service).streamStatelessRun(BODY, { signal: giveUp.signal });
    const reading = (async () => {
      for await (const _ of stream) giveUp.abort();
    })();
    await expect(reading).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER', aborted: true });
    await until(() => service.open() === 0);
  });

  it.each([
    ['in one piece', (text: string) => [text]],
    ['in many lines', (text: string) => text.match(/.{1,100}/gsu)?.map((part) => `data: ${part}\n`) ?? []],
    ['without an end', (text: string) => Array.from({ length: 100 }, () => text)],
  ])('ends with BAD_ANSWER if an event is too large, %s', async (_how, parts) => {
    const service = await startStreaming((response) => {
      response.write('data: "');
      for (const part of parts('x'.repeat(5_000))) response.write(part);
      response.end('"\n\n');
    });
    const stream = await client(service, { maxEventCharacters: 2_000 }).streamStatelessRun(BODY);
    await expect(collect(stream)).rejects.toMatchObject({
      code: 'SLIPWAY_BAD_ANSWER',
      mayHaveBeenTaken: true,
    });
  });

  it('ends with BAD_ANSWER if an event is not JSON, after the events before it', async () => {
    const service = await startStreaming((response) => response.end('data: 1\n\ndata: {oops\n\ndata: 3\n\n'));
    const stream = await client(service).streamStatelessRun(BODY);
    const seen: unknown[] = [];
    await expect(collect(stream, seen)).rejects.toMatchObject({ code: 'SLIPWAY_BAD_ANSWER' });
    expect(seen).toEqual([1]);
  });

  it('is no stream if the answer has another type', async () => {
    const service = await startService((_, response) => response.end('<html></html>'));
    const opening = client(service).streamStatelessRun(BODY);
    await expect(opening).rejects.toMatchObject({ code: 'SLIPWAY_BAD_ANSWER' });
  });

  it('is rejected like any call', async () => {
    const service = await startService((_, response) => {
      response.writeHead(409).end('{"detail": "The thread is busy."}');
    });
    const opening = client(service).streamRun(THREAD, BODY);
    await expect(opening).rejects.toMatchObject({ code: 'SLIPWAY_CONFLICT', detail: 'The thread is busy.' });
  });
});
