import { setTimeout as delay } from 'node:timers/promises';

import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';

export interface MadeRun {
  readonly run_id: string;
  readonly thread_id: string;
}

/** The Run API calls of the benchmark, the same for every server. */
export interface RunApi {
  thread(): Promise<string>;
  create(thread: string, body: object): Promise<MadeRun>;
  /** The final values. */
  join(run: MadeRun): Promise<unknown>;
  cancel(run: MadeRun): Promise<void>;
  /** Waits until all of the runs have a status. */
  untilAll(runs: readonly MadeRun[], status: string): Promise<void>;
  /** Streams a run without a thread, in mode `custom`: the `number` of each event. */
  customNumbers(body: object): Promise<number[]>;
}

/** The polling interval for run statuses, in milliseconds. */
const LOOK_MS = 500;

/** A client for the Run API at a base URL. Throws on any answer that is not a success. */
export function createRunApi(url: string): RunApi {
  // No timeouts: joins and streams take as long as their runs.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const send = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (answer.statusCode >= 300) {
      throw new Error(`${method} ${path} answered ${answer.statusCode}: ${await answer.body.text()}`);
    }
    return answer.body;
  };
  const json = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> =>
    JSON.parse(await (await send(method, path, body)).text()) as unknown;
  const pathOf = (run: MadeRun) => `/threads/${run.thread_id}/runs/${run.run_id}`;

  return {
    thread: async () => ((await json('POST', '/threads', {})) as { thread_id: string }).thread_id,
    create: async (thread, body) => (await json('POST', `/threads/${thread}/runs`, body)) as MadeRun,
    join: (run) => json('GET', `${pathOf(run)}/join`),
    cancel: async (run) => {
      await (await send('POST', `${pathOf(run)}/cancel?wait=true`)).dump();
    },
    untilAll: async (runs, status) => {
      let left = [...runs];
      while (left.length > 0) {
        const states = await Promise.all(
          left
            .slice(0, 50)
            .map(async (run) => ((await json('GET', pathOf(run))) as { status: string }).status),
        );
        const there = left.slice(0, 50).filter((_, index) => states[index] === status);
        left = left.filter((run) => !there.includes(run));
        if (there.length === 0) await delay(LOOK_MS);
      }
    },
    customNumbers: async (body) => {
      const numbers: number[] = [];
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event === 'custom') numbers.push((JSON.parse(data) as { number: number }).number);
        },
      });
      const decoder = new TextDecoder();
      const stream = await send('POST', '/runs/stream', { ...body, stream_mode: 'custom' });
      for await (const chunk of stream) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      return numbers;
    },
  };
}
