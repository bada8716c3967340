import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { truncate, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { inspect, promisify } from 'node:util';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ARTIFACT_MAX_BYTES } from '@slipway/contract/limits';

import type { ControlPlaneClient } from '../../src/clients/controlPlane.ts';
import { FROM_SOURCE } from '../support/fromSource.ts';
import { closeServer, listen } from '../support/listen.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';
import { client as clientAt, KEY } from './controlPlaneUnderTest.ts';
import { closedPort } from './faultyService.ts';

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: number;
  readonly sha256: string;
}

let folder: string;
beforeEach(async () => (folder = await temporaryFolder()));

async function startStore(
  answer: (response: ServerResponse, request: IncomingMessage) => void = (response) => response.end(),
  readWhole = true,
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    if (!readWhole) {
      answer(response, request);
      return;
    }
    const hash = createHash('sha256');
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      hash.update(chunk);
    });
    request.on('end', () => {
      received.push({ method: request.method, headers: request.headers, bytes, sha256: hash.digest('hex') });
      answer(response, request);
    });
  });
  const url = await listen(server);
  onTestFinished(() => closeServer(server));
  return { url, received };
}

function client(baseUrl = 'http://127.0.0.1:9'): ControlPlaneClient {
  return clientAt(baseUrl);
}

async function fileOf(bytes: number): Promise<string> {
  const path = join(folder, 'artifact.tar.gz');
  await writeFile(path, '');
  await truncate(path, bytes);
  return path;
}

describe('An artifact', () => {
  it('is sent whole, with its length, its type and the headers of the upload URL', async () => {
    const store = await startStore();
    const path = join(folder, 'a.tar.gz');
    const content = Buffer.alloc(1_000_003, 'slipway');
    await writeFile(path, content);
    const progress: [number, number][] = [];
    await client().uploadArtifact({
      upload: {
        upload_url: `${store.url}/bucket/a?signature=s`,
        upload_headers: { 'X-Goog-Content-Length-Range': '0,209715200', 'Content-Length': '5', Host: 'evil' },
      },
      source: path,
      onProgress: (sent, size) => progress.push([sent, size]),
    });
    expect(store.received).toMatchObject([
      {
        method: 'PUT',
        bytes: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
        headers: {
          'content-length': String(content.length),
          'content-type': 'application/gzip',
          'x-goog-content-length-range': '0,209715200',
          host: new URL(store.url).host,
        },
      },
    ]);
    expect(store.received[0]?.headers).not.toHaveProperty('transfer-encoding');
    expect(progress.length).toBeGreaterThan(2);
    expect(progress.at(-1)).toEqual([content.length, content.length]);
    expect(progress.map(([sent]) => sent)).toEqual([...progress.map(([sent]) => sent)].sort((a, b) => a - b));
  });

  it('arrives byte for byte if the service reads slowly', async () => {
    const content = randomBytes(8_000_011);
    const path = join(folder, 'random.tar.gz');
    await writeFile(path, content);
    const pieces: Buffer[] = [];
    const store = await startStore((response, request) => {
      void (async () => {
        for await (const piece of request) {
          pieces.push(Buffer.from(piece as Buffer));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        response.end();
      })();
    }, false);
    await client().uploadArtifact({ upload: { upload_url: store.url }, source: path });
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  });

  it('is sent with the key only if the upload URL is the control plane’s own', async () => {
    const store = await startStore();
    const upload = { upload_url: `${store.url}/uploads/1` };
    const source = () => Readable.from([Buffer.from('abc')]);
    await client(store.url).uploadArtifact({ upload, source, sizeBytes: 3 });
    await client('http://127.0.0.1:9').uploadArtifact({ upload, source, sizeBytes: 3 });
    expect(store.received.map(({ headers }) => headers['x-api-key'])).toEqual([KEY, undefined]);
  });

  it('of no bytes is sent', async () => {
    const store = await startStore();
    await client().uploadArtifact({ upload: { upload_url: store.url }, source: await fileOf(0) });
    expect(store.received).toMatchObject([{ bytes: 0, headers: { 'content-length': '0' } }]);
  });

  it('of 200 MB is sent in less than 64 MiB of memory', async () => {
    const store = await startStore();
    const child = join(import.meta.dirname, 'uploadMemory.child.ts');
    const source = await fileOf(ARTIFACT_MAX_BYTES);
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...FROM_SOURCE,
      child,
      source,
      store.url,
    ]);
    const { grownBytes } = JSON.parse(stdout) as { grownBytes: number };
    expect(store.received.at(-1)?.bytes).toBe(ARTIFACT_MAX_BYTES);
    expect(grownBytes / 1_048_576).toBeLessThan(64);
  });

  it('of more than 200 MB is rejected before anything is sent', async () => {
    const store = await startStore();
    const source = await fileOf(ARTIFACT_MAX_BYTES + 1);
    await expect(
      client().uploadArtifact({ upload: { upload_url: store.url }, source }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_TOO_LARGE' });
    const opened = (): Readable => {
      throw new Error('The source was opened');
    };
    await expect(
      client().uploadArtifact({
        upload: { upload_url: store.url },
        source: opened,
        sizeBytes: ARTIFACT_MAX_BYTES + 1,
      }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_TOO_LARGE' });
    expect(store.received).toEqual([]);
  });

  it('that is missing, or not a file, is reported', async () => {
    const upload = { upload_url: 'http://127.0.0.1:9' };
    await expect(client().uploadArtifact({ upload, source: join(folder, 'none') })).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_NOT_FOUND',
    });
    const store = await startStore();
    await expect(
      client().uploadArtifact({ upload: { upload_url: store.url }, source: folder }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNREADABLE' });
  });

  it.each([
    ['shorter', 5],
    ['longer', 1],
  ])('that is %s than expected is never sent whole', async (_how, sizeBytes) => {
    const store = await startStore();
    const source = (): Readable => Readable.from([Buffer.from('ab'), Buffer.from('c')]);
    await expect(
      client().uploadArtifact({ upload: { upload_url: store.url }, source, sizeBytes }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_CORRUPT' });
    expect(store.received).toEqual([]);
  });

  it('whose source fails during the read is reported as unreadable', async () => {
    const store = await startStore();
    const source = (): Readable =>
      Readable.from(
        (function* () {
          yield Buffer.from('ab');
          throw new Error('EIO');
        })(),
      );
    await expect(
      client().uploadArtifact({ upload: { upload_url: store.url }, source, sizeBytes: 9 }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNREADABLE' });
  });
});

describe('An upload that fails', () => {
  it('is an error like any call’s, without the signed URL', async () => {
    const store = await startStore((response, { url = '' }) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ detail: `Signature of ${url} does not match.` }));
    });
    const error: unknown = await client()
      .uploadArtifact({
        upload: { upload_url: `${store.url}/uploads/tok-77?signature=abcdef` },
        source: await fileOf(10),
      })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'SLIPWAY_UNAUTHORIZED', method: 'PUT', mayHaveBeenTaken: false });
    expect(error).toHaveProperty('hint', expect.stringContaining('object store'));
    expect(inspect(error, { depth: 9 })).not.toMatch(/tok-77|abcdef/u);
  });

  it('was certainly not taken if nothing listens', async () => {
    const upload = { upload_url: await closedPort() };
    await expect(client().uploadArtifact({ upload, source: await fileOf(10) })).rejects.toMatchObject({
      code: 'SLIPWAY_UNREACHABLE',
      mayHaveBeenTaken: false,
    });
  });

  it('is abandoned after a time without progress, even if it went well before', async () => {
    const store = await startStore(() => undefined, false);
    const uploading = client().uploadArtifact(
      { upload: { upload_url: store.url }, source: await fileOf(50_000_000) },
      { timeoutMs: 200 },
    );
    await expect(uploading).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });

  it('takes as long as it needs while it progresses', async () => {
    const store = await startStore();
    const source = (): Readable =>
      Readable.from(
        (async function* () {
          for (let piece = 0; piece < 6; piece += 1) {
            await new Promise((resolve) => setTimeout(resolve, 400));
            yield Buffer.from('x');
          }
        })(),
      );
    const upload = { upload_url: store.url };
    await client().uploadArtifact({ upload, source, sizeBytes: 6 }, { timeoutMs: 2_000 });
    expect(store.received).toMatchObject([{ bytes: 6 }]);
  });

  it('is not done if a success is answered before the artifact was sent, as by a proxy', async () => {
    const store = await startStore((response) => response.end('<html>sign in</html>'), false);
    const upload = { upload_url: store.url };
    await expect(client().uploadArtifact({ upload, source: await fileOf(50_000_000) })).rejects.toMatchObject(
      { code: 'SLIPWAY_BAD_ANSWER', message: /before all of the artifact was sent$/u },
    );
  });

  it('ends when its signal aborts', async () => {
    const store = await startStore(() => undefined, false);
    const giveUp = new AbortController();
    const uploading = client().uploadArtifact(
      {
        upload: { upload_url: store.url },
        source: await fileOf(50_000_000),
        onProgress: () => giveUp.abort(),
      },
      { signal: giveUp.signal },
    );
    await expect(uploading).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER', aborted: true });
  });
});
