import assert from 'node:assert/strict';

import { echo, runOf } from '../runApiUnderTest.ts';
import { has, isText, isUuid } from './judging.ts';
import type { Row, ServerUnderTest } from './row.ts';

/** Contract 001: "What the service does", "Rules", "Authentication", "Errors". */
export const RULE_ROWS: readonly Row[] = [
  rule('What the service does', 'a graph is addressed by its name or by an assistant id', async (server) => {
    const { created } = await server.echoed();
    const body = { assistant_id: created.assistant_id, input: { text: 'by id' } };
    has(await server.api.wait(undefined, body), { text: 'echo: by id' });
  }),
  rule('What the service does', 'a thread holds the state of a conversation', async (server) => {
    const thread = await server.api.thread();
    const say = (text: string) => server.api.wait(thread, echo(text));
    await say('one');
    has(await say('two'), { text: 'echo: two', log: (log: unknown[]) => log.length === 2 });
  }),
  rule('Rules', '1: cancelling a run that is not pending or running fails', overAlready),
  rule('Rules', '2: feedback keys are the caller’s; one link is returned per key', async (server) => {
    const keys = ['thumbs', 'ein Schlüssel', 'x/y'];
    const links = await server.feedbackLinks(keys);
    assert.deepEqual(Object.keys(links).sort(), [...keys].sort());
    assert.equal(new Set(Object.values(links)).size, 3);
  }),
  rule('Rules', '3: with a list of modes each output is tagged with its mode', async (server) => {
    const modes = ['values', 'updates', 'custom', 'debug', 'messages-tuple', 'events'];
    const events = await server.stream({ ...runOf('parent', 'x'), stream_mode: modes });
    for (const name of ['values', 'updates', 'custom', 'debug', 'events'])
      assert.ok(
        events.some(({ event }) => event === name),
        `no ${name}`,
      );
  }),
  rule('Rules', '4: with stream_subgraphs chunks carry the namespace of their graph', async (server) => {
    const body = { ...runOf('parent', 'x'), stream_mode: ['updates'] };
    const names = (await server.stream({ ...body, stream_subgraphs: true })).map(({ event }) => event);
    assert.ok(
      names.some((name) => /^updates\|sub:[\da-f-]{36}$/.test(name)),
      names.join(),
    );
    assert.ok(names.includes('updates'));
    const without = (await server.stream(body)).map(({ event }) => event);
    assert.ok(without.every((name) => !name.includes('|')));
  }),
  rule('Rules', '5: a run is stateless when the path has no thread', async (server) => {
    const run = await server.api.json('POST', '/runs', echo());
    has(run, { run_id: isUuid, kwargs: { temporary: true } });
  }),
  rule('Authentication', 'feedback links are called without a key', async (server) => {
    const links = await server.feedbackLinks(['a']);
    assert.equal((await fetch(links['a'] ?? '', { method: 'POST', body: '{"score":1}' })).ok, true);
  }),
  rule('Errors', 'cancelling a run that is neither pending nor running returns an error', overAlready),
  rule('Errors', 'getting a run that was removed by rollback returns an error', async (server) => {
    const { path } = await server.busy();
    await server.answer('POST', `${path}/cancel?action=rollback&wait=true`);
    has(await server.answer('GET', path), { status: 404, body: { detail: isText } });
  }),
];

/** Canceling a run that has ended fails, and changes nothing. */
export async function overAlready(server: ServerUnderTest): Promise<void> {
  const { thread, ended } = await server.echoed();
  const path = `/threads/${thread}/runs/${ended.run_id}`;
  has(await server.answer('POST', `${path}/cancel`), { status: 409, body: { detail: isText } });
  has(await server.api.json('GET', path), { status: 'success' });
}

function rule(section: string, row: string, check: Row['check']): Row {
  return { section, row, check };
}
