import { Hono } from 'hono';
import { expect, it } from 'vitest';

import { Assistants } from '../../src/agentServer/graphs/assistants.ts';
import { serveAssistants } from '../../src/agentServer/http/assistantRoutes.ts';
import { HttpProblem, problemHandler } from '../../src/http/problem.ts';
import { createLogger } from '../../src/http/logger.ts';
import { serveOn } from '../../src/http/serve.ts';

it('an assistant whose threads could not all be removed can be removed again', async () => {
  const id = crypto.randomUUID();
  const stored = new Set<string>([id]);
  const get = (assistantId: string) =>
    stored.has(assistantId)
      ? Promise.resolve({ assistant_id: assistantId })
      : Promise.reject(new HttpProblem(404, 'not found'));
  const remove = async (assistantId: string) => {
    await get(assistantId);
    stored.delete(assistantId);
  };
  const removedFor: string[] = [];
  const removeThreadsOf = (assistantId: string) =>
    removedFor.push(assistantId) === 1 ? Promise.reject(new Error('killed')) : Promise.resolve();
  const assistants = new Assistants(new Map([['echo', { name: 'echo' }]]) as never, { get, remove } as never);
  const app = new Hono();
  app.onError(problemHandler(createLogger({ level: 'silent' })));
  serveAssistants(serveOn(app), assistants, { removeThreadsOf } as never);
  const requestRemoval = async (assistant: string) =>
    (await app.request(`/assistants/${assistant}?delete_threads=true`, { method: 'DELETE' })).status;

  expect(await requestRemoval(id)).toBe(500);
  expect(await requestRemoval(id)).toBe(204);
  expect(removedFor).toEqual([id, id]);
  // Nothing is removed for those that stay, or that do not exist.
  expect(await requestRemoval('echo')).toBe(409);
  expect(await requestRemoval(id)).toBe(404);
  expect(removedFor).toEqual([id, id]);
});
