import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { type FaultyService, type SeenRequest, startService } from '../clients/faultyService.ts';

/** How a fake agent behaves. */
export interface Behavior {
  /** How long run number n (from 0) takes, in milliseconds. */
  readonly takesMs?: (run: number) => number;
  readonly fails?: (run: number) => boolean;
  /** The answer to a run's input. */
  readonly answers?: (input: Record<string, unknown>) => string;
  /** Answers a request itself; returns whether it did. */
  readonly instead?: (request: SeenRequest, response: ServerResponse, run: number) => boolean;
  /** Further final values of a run. */
  readonly values?: Record<string, unknown>;
}

/** An agent with speed and failures that a test sets. Those of a real agent vary. Stopped after the test. */
export async function startFakeAgent(behavior: Behavior = {}): Promise<FaultyService & { runs(): number }> {
  let runs = 0;
  const { takesMs = () => 1, fails = () => false, answers = () => 'hello', instead, values } = behavior;
  const service = await startService((request, response) => {
    const run = request.url === '/runs/stream' ? runs++ : runs;
    if (instead?.(request, response, run) === true) return;
    if (request.url !== '/runs/stream') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
      return;
    }
    const { input, feedback_keys: keys } = JSON.parse(request.body) as {
      input: Record<string, unknown>;
      feedback_keys?: string[];
    };
    void stream(response, async (send) => {
      send('metadata', { run_id: `run-${run}` });
      for (const key of keys ?? []) send('feedback', { [key]: `${service.url}/feedback/${run}` });
      send('values', input);
      await sleep(takesMs(run) / 2);
      send('messages', [{ content: 'h' }, {}]);
      await sleep(takesMs(run) / 2);
      if (fails(run)) send('error', { error: 'Failed', message: 'as it was told to' });
      else send('values', { messages: [{ content: answers(input), ...USAGE }], ...values });
    });
  });
  return { ...service, runs: () => runs };
}

const USAGE = { usage_metadata: { output_tokens: 7 } };

async function stream(
  response: ServerResponse,
  run: (send: (event: string, data: unknown) => void) => Promise<void>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await run((event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
  response.end();
}
