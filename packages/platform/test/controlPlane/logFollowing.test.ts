import { createParser } from 'eventsource-parser';
import { describe, expect, it, onTestFinished } from 'vitest';

import { aborted, API_KEY, gate, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

interface Followed {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: { readonly message?: string; readonly status?: string };
}

/** Follows a revision's log: the response, and its events one by one. */
async function follow(
  id: string,
  revision: string,
  options: { query?: string; lastEventId?: string; key?: string } = {},
): Promise<{ response: Response; events: AsyncGenerator<Followed, void> }> {
  const path = `/v2/deployments/${id}/revisions/${revision}/logs?follow=true&${options.query ?? ''}`;
  const lastEventId: Record<string, string> =
    options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId };
  const { key = API_KEY } = options;
  const response = await platform.app.request(path, { headers: { 'x-api-key': key, ...lastEventId } });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel());
  return { response, events: read(reader) };
}

async function* read(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Followed, void> {
  const ready: Followed[] = [];
  const parser = createParser({
    onEvent: ({ event, id, data }) =>
      ready.push({ event: event ?? 'message', id, data: JSON.parse(data) as Followed['data'] }),
  });
  const decoder = new TextDecoder();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parser.feed(decoder.decode(part.value, { stream: true }));
    yield* ready.splice(0);
  }
}

/** Reads until all wanted kinds of events, lines and statuses have arrived. */
async function until(events: AsyncGenerator<Followed, void>, ...wanted: string[]): Promise<Followed[]> {
  const seen: Followed[] = [];
  const missing = new Set(wanted);
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    const { event, data } = next.value;
    seen.push(next.value);
    for (const each of [event, data.message, data.status]) missing.delete(each ?? '');
    if (missing.size === 0) return seen;
  }
  throw new Error(`The stream ended without ${[...missing].join()}: ${JSON.stringify(seen)}`);
}

const messages = (events: readonly Followed[]): (string | undefined)[] =>
  events.filter(({ event }) => event === 'log').map(({ data }) => data.message);

/** A revision whose build writes a line, waits for the test, and writes another. */
async function buildInTwoParts(name: string): Promise<{ id: string; revision: string; goOn: () => void }> {
  const id = await platform.create(name);
  const { promise, open } = gate();
  const { onBuild } = platform;
  platform.onBuild = async (build) => {
    build.log('before');
    await Promise.race([promise, aborted(build.signal)]);
    build.log('after');
    return onBuild(build);
  };
  return { id, revision: await platform.release(id), goOn: () => open() };
}

describe('following a log', () => {
  it('delivers new lines and status changes', async () => {
    const { id, revision, goOn } = await buildInTwoParts('followed');
    const { response, events } = await follow(id, revision);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(messages(await until(events, 'before'))).toEqual(['before']);
    goOn();
    expect(messages(await until(events, 'built', 'DEPLOYED'))).toEqual(['after', 'built']);
  });

  it('of a build ends with it; of a settled revision that does not serve, immediately', async () => {
    const { id, revision, goOn } = await buildInTwoParts('ends');
    const { events } = await follow(id, revision, { query: 'stage=build' });
    goOn();
    const seen = await until(events, 'end');
    expect(messages(seen)).toEqual(['before', 'after', 'built']);
    expect((await events.next()).done).toBe(true);
    await platform.reaches(id, revision, 'DEPLOYED');
    platform.playAsUsual();
    await platform.release(id, 'DEPLOYED');
    const old = await follow(id, revision);
    const told = await until(old.events, 'end');
    expect(messages(told)).toEqual(['before', 'after', 'built']);
    expect(told.at(-1)?.data.status).toBe('DEPLOYED');
  });

  it('continues after Last-Event-ID, or after offset', async () => {
    const { id, revision, goOn } = await buildInTwoParts('resumed');
    goOn();
    await platform.reaches(id, revision, 'DEPLOYED');
    const whole = await until((await follow(id, revision, { query: 'stage=build' })).events, 'end');
    const first = whole.find(({ event }) => event === 'log')?.id ?? '';
    const second = whole.filter(({ event }) => event === 'log')[1]?.id ?? '';
    const rest = await follow(id, revision, { query: 'stage=build', lastEventId: first });
    expect(messages(await until(rest.events, 'end'))).toEqual(['after', 'built']);
    const offset = await follow(id, revision, { query: `stage=build&offset=${second}` });
    expect(messages(await until(offset.events, 'end'))).toEqual(['built']);
    const nonsense = await follow(id, revision, { query: 'stage=build', lastEventId: 'x' });
    expect(messages(await until(nonsense.events, 'end'))).toHaveLength(3);
  });

  it('reads no further ahead than a slow reader reads', async () => {
    const id = await platform.create('slow reader');
    const { onBuild } = platform;
    platform.onBuild = async (build) => {
      for (let line = 0; line < 2_000; line++) build.log(`line ${line}`);
      return onBuild(build);
    };
    const revision = await platform.release(id, 'DEPLOYED');
    const { events } = await follow(id, revision, { query: 'stage=build' });
    await until(events, 'line 0');
    // The stream has not read this line yet, so it delivers the changed text.
    await platform.kysely
      .updateTable('revision_logs')
      .set({ line: 'changed' })
      .where('revision_id', '=', revision)
      .where('line', '=', 'line 1900')
      .execute();
    expect(messages(await until(events, 'end'))).toContain('changed');
  });

  it('of a deployment ends with a reason when the deployment is deleted', async () => {
    const { id, revision } = await platform.deployed('deleted while followed');
    const { events } = await follow(id, revision);
    await until(events, 'status');
    await platform.call('DELETE', `/v2/deployments/${id}`);
    const seen = await until(events, 'end');
    expect(seen.at(-1)?.data).toEqual({ status: 'UNKNOWN', status_message: 'The deployment was deleted.' });
  });

  it('ends without "end" when its API key is revoked; reconnecting is then refused', async () => {
    const { id, revision } = await platform.deployed('read with a revoked key');
    const made = await platform.call('POST', '/v1/api-keys', { name: 'reader', scope: 'read' });
    const key = made.json.key;
    const { events } = await follow(id, revision, { key });
    await until(events, 'status');
    await platform.call('DELETE', `/v1/api-keys/${made.json.id}`);
    const rest: Followed[] = [];
    for await (const event of events) rest.push(event);
    expect(rest.map(({ event }) => event)).not.toContain('end');
    expect((await follow(id, revision, { key })).response.status).toBe(403);
  });

  it('ends without "end" when the platform stops, so that its reader reconnects', async () => {
    const { id, revision } = await buildInTwoParts('stopped');
    const { events } = await follow(id, revision);
    await until(events, 'before');
    await platform.controlPlane.close();
    const rest: Followed[] = [];
    for await (const event of events) rest.push(event);
    expect(rest.map(({ event }) => event)).not.toContain('end');
    await platform.start();
  });
});

describe('a page of a log', () => {
  it('is returned without follow, for both stages or one, in both orders', async () => {
    const { id, revision, goOn } = await buildInTwoParts('pages');
    goOn();
    await platform.reaches(id, revision, 'DEPLOYED');
    const page = async (query: string) => {
      const { status, json } = await platform.call(
        'GET',
        `/v2/deployments/${id}/revisions/${revision}/logs?${query}`,
      );
      expect(status, JSON.stringify(json)).toBe(200);
      return { lines: json.logs.map(({ message }) => message), next: json.next_offset };
    };
    const first = await page('limit=2');
    expect(first.lines).toEqual(['before', 'after']);
    expect(await page(`limit=2&offset=${first.next}`)).toEqual({ lines: ['built'], next: null });
    expect((await page('order=desc&limit=1')).lines).toEqual(['built']);
    expect((await page('stage=deploy')).lines).toEqual([]);
    // Nobody would read its stream.
    const path = `/v2/deployments/${id}/revisions/${revision}/logs?follow=1`;
    expect((await platform.call('HEAD', path)).status).toBe(405);
  });

  it.each(['order=desc&follow=1', 'stage=run', 'limit=0', 'limit=1001', 'offset=-1', 'offset=x', 'follow=2'])(
    'is rejected with 422 for ?%s',
    async (query) => {
      const id = await platform.create(`refused ${query}`);
      const { latest_revision_id: revision } = await platform.deployment(id);
      const path = `/v2/deployments/${id}/revisions/${revision}/logs?${query}`;
      expect((await platform.call('GET', path)).status).toBe(422);
    },
  );
});
