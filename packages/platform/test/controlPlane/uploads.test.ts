import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';

import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { insertRevision } from '../../src/controlPlane/deploymentRows.ts';
import { homeLayout } from '../../src/controlPlane/homeLayout.ts';
import { checkTarball } from '../../src/controlPlane/sourceCheck.ts';
import { UPLOAD_URL_MS, Uploads } from '../../src/controlPlane/uploads.ts';
import { listen, listenerOf, type Listening } from '../../src/http/listen.ts';
import { createLogger } from '../../src/http/logger.ts';
import { TestPlatform } from './testPlatform.ts';
import { sendAll } from '../http/sendAll.ts';

const MAX = 128 * 1_048_576;
const platform = TestPlatform.use({ uploadMaxBytes: MAX });
let listening: Listening;
let id: string;

beforeAll(async () => {
  listening = await listen(listenerOf(platform.app, createLogger()), { port: 0 });
  id = await platform.create('uploads');
});

afterAll(async () => {
  await listening.close(0);
});

async function offer(): Promise<{ path: string; objectPath: string }> {
  const { json: answer } = await platform.call('POST', `/deployments/${id}/upload-url`);
  return { path: new URL(answer.upload_url).pathname, objectPath: answer.object_path };
}

/** Sends a PUT over a real connection. Without a length, the body is chunked. */
async function put(
  path: string,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  length?: number,
): Promise<{ status: number | undefined; body: unknown }> {
  const sent = request(listening.url + path, {
    method: 'PUT',
    headers: length === undefined ? {} : { 'content-length': length },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  const source = Readable.from(body, { objectMode: false });
  // After a refusal, the server stops reading.
  sent.on('error', () => source.destroy());
  source.pipe(sent);
  const [response] = await answered;
  source.unpipe(sent);
  const answer = await json(response);
  sent.destroy();
  return { status: response.statusCode, body: answer };
}

function* bytes(total: number, content = randomBytes(65_536)): Generator<Buffer> {
  for (let sent = 0; sent < total; sent += content.length) yield content.subarray(0, total - sent);
}

const incoming = (): Promise<string[]> => readdir(`${platform.home}/incoming`).catch(() => []);

describe('an upload', () => {
  it('is complete on disk, with its size and digest', async () => {
    const { path, objectPath } = await offer();
    const content = randomBytes(300_000);
    const { status, body } = await put(path, bytes(300_000, content), 300_000);
    expect(status).toBe(200);
    expect(body).toEqual({
      object_path: objectPath,
      size: 300_000,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    expect(await readFile(`${platform.home}/objects/${objectPath}`)).toEqual(content);
    expect(await incoming()).toEqual([]);
  });

  it('is accepted once: later ones are rejected, also with the same content', async () => {
    const { path, objectPath } = await offer();
    const one = Buffer.from('one');
    expect((await put(path, bytes(3, one))).status).toBe(200);
    for (const content of [one, Buffer.from('two')]) {
      expect((await put(path, bytes(3, content))).status).toBe(409);
    }
    expect(await readFile(`${platform.home}/objects/${objectPath}`, 'utf8')).toBe('one');
  });

  it('is accepted once out of many at the same time, and the stored one is the acknowledged one', async () => {
    const { path, objectPath } = await offer();
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => put(path, bytes(300_000, Buffer.alloc(65_536, index)))),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
    const stored = await readFile(`${platform.home}/objects/${objectPath}`);
    expect(all.find(({ status }) => status === 200)?.body).toMatchObject({
      sha256: createHash('sha256').update(stored).digest('hex'),
    });
    expect(await incoming()).toEqual([]);
  });

  it('must have the length that its URL was requested with', async () => {
    const { json: answer } = await platform.call('POST', `/v2/deployments/${id}/upload-url`, {
      content_length: 1_000,
    });
    const path = new URL(answer.upload_url).pathname;
    expect((await put(path, bytes(999), 999)).status).toBe(400);
    expect((await put(path, bytes(999))).status).toBe(400);
    expect((await put(path, bytes(1_001))).status).toBe(413);
    expect((await put(path, bytes(1_000))).status).toBe(200);
    for (const length of [0, -1, 209_715_201, '1000']) {
      const asked = { content_length: length };
      expect((await platform.call('POST', `/deployments/${id}/upload-url`, asked)).status).toBe(422);
    }
  });

  it('is never completely in memory', async () => {
    const { path } = await offer();
    globalThis.gc?.();
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const watched = (function* () {
      for (const chunk of bytes(MAX)) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        yield chunk;
      }
    })();
    expect((await put(path, watched, MAX)).status).toBe(200);
    expect(most).toBeLessThan(64 * 1_048_576);
  });

  it('above the largest size is rejected with 413, with or without a length', async () => {
    for (const length of [MAX + 1, undefined]) {
      const { path } = await offer();
      const { status, body } = await put(path, bytes(MAX + 1), length);
      expect(status).toBe(413);
      expect(body).toEqual({ detail: `The upload is larger than ${MAX} bytes.` });
      await vi.waitFor(async () => expect(await incoming()).toEqual([]), { timeout: 20_000 });
    }
  });

  it('that is refused is answered, also if the client sends all of it first', async () => {
    const { path } = await offer();
    expect((await put(path, bytes(1_000), 1_000)).status).toBe(200);
    expect(await sendAll('PUT', listening.url + path, { megabytes: 20 })).toEqual({
      status: 409,
      body: { detail: expect.stringContaining('has been used') },
    });
  });

  it('that is interrupted leaves nothing, and may be sent again', async () => {
    const { path, objectPath } = await offer();
    const sent = request(listening.url + path, { method: 'PUT', headers: { 'content-length': 1_000_000 } });
    sent.on('error', () => undefined);
    sent.write(randomBytes(100_000));
    await vi.waitFor(async () => expect(await incoming()).toHaveLength(1), { timeout: 20_000 });
    sent.destroy();
    await vi.waitFor(async () => expect(await incoming()).toEqual([]), { timeout: 20_000 });
    await expect(readFile(`${platform.home}/objects/${objectPath}`)).rejects.toThrow('ENOENT');
    expect((await put(path, bytes(1_000_000), 1_000_000)).status).toBe(200);
  });

  it('without content is rejected', async () => {
    const { path } = await offer();
    expect((await put(path, bytes(0), 0)).status).toBe(400);
  });

  it('of a part is rejected, and the whole may be sent', async () => {
    const { path } = await offer();
    const headers = { 'content-range': 'bytes 2-4/5' };
    const part = await fetch(listening.url + path, { method: 'PUT', headers, body: 'cde' });
    expect(part.status).toBe(400);
    expect((await put(path, bytes(5), 5)).status).toBe(200);
  });

  it('that a request uses while unused ones are removed stays', async ({ skip }) => {
    const { database, kysely } = platform;
    skip(database.embeddedSecret !== undefined, 'The embedded database runs one transaction at a time.');
    const deploymentId = await platform.create('uses an old upload');
    const path = await platform.upload(deploymentId);
    const upload = kysely.selectFrom('uploads').select('object_path').where('object_path', '=', path);
    await kysely
      .updateTable('uploads')
      .set({ created_at: new Date(0) })
      .execute();
    const home = homeLayout(platform.home);
    const uploads = new Uploads({ kysely, home, log: createLogger({ level: 'silent' }) });
    let cleaned: Promise<boolean> | undefined;
    // As a PATCH does.
    await kysely.transaction().execute(async (trx) => {
      await checkTarball(trx, { source_tarball_path: path }, deploymentId);
      const deployments = trx.selectFrom('deployments').selectAll().where('id', '=', deploymentId);
      const row = await deployments.executeTakeFirstOrThrow();
      await insertRevision(trx, row, { source_tarball_path: path }, 'patch');
      cleaned = uploads.clean().then(() => true);
      const isWaiting = async () =>
        (await sql`select from pg_stat_activity where wait_event_type = 'Lock'`.execute(kysely)).rows.length >
        0;
      await Promise.race([cleaned, vi.waitFor(async () => expect(await isWaiting()).toBe(true), 10_000)]);
    });
    await cleaned;
    expect(await upload.executeTakeFirst()).toBeDefined();
    expect(await readFile(home.object(path), 'utf8')).toBe('tarball');
  });

  it('is accepted for an hour after its URL was requested', async () => {
    const { path, objectPath } = await offer();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + UPLOAD_URL_MS });
    const late = await put(path, bytes(3)).finally(() => vi.useRealTimers());
    expect(late).toEqual({ status: 403, body: { detail: 'The upload URL has expired; ask for a new one.' } });
    await expect(readFile(`${platform.home}/objects/${objectPath}`)).rejects.toThrow('ENOENT');
  });

  it('is accepted after a rotation of the master key and a restart', async () => {
    const upload = await offer();
    await platform.rotateAndRestart();
    const { status } = await platform.app.request(upload.path, { method: 'PUT', body: 'abc' });
    expect(status).toBe(200);
  });

  it('needs the token of its URL as it was issued, and an existing deployment', async () => {
    const { path } = await offer();
    const { objectPath } = await offer();
    for (const other of [
      `${path}x`,
      path.slice(0, -1),
      `${path}=`,
      '/uploads/x',
      `/uploads/${encodeURIComponent(objectPath)}`,
    ])
      expect((await put(other, bytes(3))).status, other).toBe(403);
    await platform.kysely.deleteFrom('uploads').execute();
    expect((await put(path, bytes(3))).status).toBe(403);
  });

  it('that is requested leaves no token in the database', async () => {
    const { path } = await offer();
    const rows = await platform.kysely.selectFrom('uploads').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(path.slice('/uploads/'.length));
  });
});
