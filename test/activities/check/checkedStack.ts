import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Check } from '../../../src/domain/check/check.ts';
import { type FaultyService, type Handler, inTurn, json } from '../../clients/faultyService.ts';
import {
  DEPLOYMENT_PATH,
  deploymentAnswer,
  REVISION_ID,
  revisionOn,
  type Routes,
  startRoutes,
} from '../activitiesUnderTest.ts';

export const CHECK: Check = {
  name: 'greets',
  assistant: 'greeter',
  input: { name: 'Ada' },
  expect: { contains: 'Hello' },
  timeoutMs: 10_000,
};
export const METADATA = ['metadata', { run_id: 'run-1' }] as const;
export const GREETED = ['values', { greeting: 'Hello, Ada' }] as const;

export type Event = readonly [name: string, data: unknown];

export function send(response: ServerResponse, ...events: readonly Event[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** A control plane and its agent in one; `active` are the active revisions, one at each look, then the last. */
export function startStack(
  run: Handler,
  {
    active = [REVISION_ID],
    ...routes
  }: { active?: readonly (string | null)[] } & Record<string, unknown> = {},
): Promise<FaultyService> {
  const activeNow = inTurn(active);
  return startRoutes({
    [`GET ${DEPLOYMENT_PATH}`]: (_, response) =>
      json(response, 200, deploymentAnswer({ active_revision_id: activeNow() })),
    'POST /runs/stream': run,
    ...(routes as Routes),
  });
}

/** Nothing is kept there unless an answer is long. */
export const STORE = join(tmpdir(), `slipway-answers-${process.pid}`);

export function inputOn(stack: FaultyService, check: Check = CHECK) {
  return { ...revisionOn(stack.url), agentUrl: stack.url, store: STORE, check };
}

/** An agent's run with these events, ended as it should be. */
export function runOf(...events: readonly Event[]): Handler {
  return (_, response) => {
    send(response, METADATA, ...events);
    response.end();
  };
}

export function runsOf(stack: FaultyService): unknown[] {
  const runs = stack.requests.filter(({ url }) => url === '/runs/stream');
  return runs.map(({ body }) => JSON.parse(body) as unknown);
}
