import type { Socket } from 'node:net';
import { inspect } from 'node:util';

import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';

import { createControlPlaneClient } from '../../src/clients/controlPlane.ts';
import { Exchange } from '../../src/clients/exchange.ts';
import { SlipwayError } from '../../src/domain/errors.ts';
import { client, ID, KEY, REVISION } from './controlPlaneUnderTest.ts';
import {
  answers,
  closedPort,
  errorOf,
  json,
  startService,
  startSocketService,
  until,
} from './faultyService.ts';

describe('A request that was certainly not taken', () => {
  it('had its connection rejected', async () => {
    const error = await errorOf(client(await closedPort()).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false, status: undefined });
    expect(error.message).toContain('the connection was refused');
  });

  it('has a host whose name does not resolve', async () => {
    // A label of 64 characters is too long for a host name, so no server is called.
    const error = await errorOf(client(`http://${'a'.repeat(64)}.invalid`).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false });
  });

  it.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('has a host whose certificate is of an unknown authority: %s', async (code) => {
    const dispatcher = {
      compose: () => ({ request: () => Promise.reject(Object.assign(new Error(code), { code })) }),
    } as unknown as Dispatcher;
    const url = new URL('https://plane.example.com/v2/deployments');
    const error = await errorOf(
      new Exchange(dispatcher, { method: 'GET', url, headers: {}, secrets: [] }, {}).open(),
    );
    expect(error).toMatchObject({
      code: 'SLIPWAY_UNREACHABLE',
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    });
  });

  it('has a host that does not speak TLS', async () => {
    const { url } = await startService(answers(200, {}));
    const error = await errorOf(client(url.replace('http:', 'https:')).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false });
    expect(error.message).toMatch(/could not be reached: it does not speak TLS/u);
  });

  it('timed out while it waited for a connection', async () => {
    const service = await startSocketService(() => undefined);
    const plane = client(service.url, { connections: 1 });
    const first = errorOf(plane.getDeployment(ID, { timeoutMs: 2_000 }));
    await until(() => service.open() === 1);
    const second = await errorOf(plane.redeployRevision(ID, REVISION, { timeoutMs: 50 }));
    expect(second).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false });
    expect(await first).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });

  it('was aborted before it was sent', async () => {
    const service = await startService(answers(200, {}));
    const error = await errorOf(
      client(service.url).redeployRevision(ID, REVISION, { signal: AbortSignal.abort() }),
    );
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false, aborted: true });
    expect(service.connections()).toBe(0);
  });

  it('was aborted while it waited for a connection, and is not sent afterwards', async () => {
    const seen: string[] = [];
    const sockets: Socket[] = [];
    const service = await startSocketService((socket) => {
      sockets.push(socket);
      socket.on('data', (data) => seen.push(String(data).split('\r\n')[0] ?? ''));
    });
    const plane = client(service.url, { connections: 1 });
    const first = plane.getDeployment(ID);
    await until(() => seen.length === 1);
    const giveUp = new AbortController();
    const second = errorOf(plane.redeployRevision(ID, REVISION, { signal: giveUp.signal }));
    giveUp.abort();
    expect(await second).toMatchObject({
      message: expect.stringMatching(/ was aborted before it was sent$/u) as string,
      mayHaveBeenTaken: false,
    });
    sockets[0]?.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}');
    await errorOf(first);
    const third = errorOf(plane.getRevision(ID, REVISION, { timeoutMs: 2_000 }));
    await until(() => seen.length === 2);
    expect(seen[1]).toBe(`GET /v2/deployments/${ID}/revisions/${REVISION} HTTP/1.1`);
    await third;
  });

  it('has an id that would lead to another path', async () => {
    const service = await startService(answers(200, {}));
    for (const id of ['', '..', '../secrets', 'x/y', 'not-a-uuid']) {
      const error = await errorOf(client(service.url).getDeployment(id));
      expect(error).toMatchObject({ code: 'SLIPWAY_REFUSED', mayHaveBeenTaken: false });
      expect(error.detail).toMatchObject([{ loc: ['path', 'deployment_id'] }]);
    }
    expect(service.requests).toEqual([]);
  });
});

const LAST = 'connection: close\r\ntransfer-encoding: chunked\r\n\r\n';

describe('A request that may have been taken', () => {
  it.each<[string, (socket: Socket) => void, number | undefined]>([
    // The sender cannot know whether the service read it.
    ['lost its connection before the service read it', (socket) => socket.destroy(), undefined],
    ['had its connection closed', (socket) => socket.once('data', () => socket.end()), undefined],
    ['had its connection reset', (socket) => socket.once('data', () => socket.resetAndDestroy()), undefined],
    [
      'had its answer cut off',
      (socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":')),
      200,
    ],
    [
      'had its last answer of a connection cut off',
      (socket) => socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${LAST}5\r\n{"id"`)),
      200,
    ],
  ])('%s', async (_, serve, status) => {
    const service = await startSocketService(serve);
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, status });
  });

  it('got no answer in time', async () => {
    const service = await startService(() => undefined);
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION, { timeoutMs: 1_000 }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, aborted: false });
    expect(error.message).toContain('within 1.0s');
    await until(() => service.open() === 0);
  });

  it('got its answer too slowly', async () => {
    const service = await startService((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION, { timeoutMs: 2_000 }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, status: 200 });
  });

  it('was aborted after it was sent', async () => {
    const service = await startService(() => undefined);
    const giveUp = new AbortController();
    const call = errorOf(client(service.url).redeployRevision(ID, REVISION, { signal: giveUp.signal }));
    await until(() => service.requests.length === 1);
    giveUp.abort();
    expect(await call).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, aborted: true });
  });

  it('used a kept-alive connection that closed during the write', async () => {
    let answers = 0;
    const service = await startSocketService((socket) => {
      socket.on('data', () => {
        answers += 1;
        if (answers === 1) socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}');
        else socket.resetAndDestroy();
      });
    });
    const plane = client(service.url, { connections: 1 });
    await errorOf(plane.getDeployment(ID));
    const error = await errorOf(plane.redeployRevision(ID, REVISION));
    expect(service.connections()).toBe(1);
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });
});

describe('A kept-alive connection', () => {
  it('is reused: the pool opens at most a second one for sequential calls', async () => {
    const service = await startService(answers(404, { detail: 'Gone.' }));
    const plane = client(service.url);
    for (let call = 0; call < 20; call += 1) await errorOf(plane.getDeployment(ID));
    expect(service.connections()).toBeLessThanOrEqual(2);
    expect(service.requests).toHaveLength(20);
  });

  it('never exceeds the limit of the pool', async () => {
    const service = await startService(answers(404, { detail: 'Gone.' }));
    const plane = client(service.url, { connections: 3 });
    await Promise.all(Array.from({ length: 20 }, () => errorOf(plane.getDeployment(ID))));
    expect(service.connections()).toBeLessThanOrEqual(3);
    expect(service.requests).toHaveLength(20);
  });

  it('that the service closed while it was idle is replaced before a write', async () => {
    const sockets: Socket[] = [];
    const service = await startSocketService((socket) => {
      sockets.push(socket);
      socket.on('data', () => socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}'));
    });
    const plane = client(service.url);
    await errorOf(plane.getDeployment(ID));
    sockets[0]?.end();
    await until(() => service.open() === 0);
    expect(await errorOf(plane.redeployRevision(ID, REVISION))).toMatchObject({ status: 404 });
    expect(service.connections()).toBe(2);
  });
});

describe('An error', () => {
  it('is a SlipwayError with the exit code of its catalogue row', async () => {
    const error = await errorOf(client(await closedPort()).getDeployment(ID));
    expect(error).toBeInstanceOf(SlipwayError);
    expect(error.exitCode).toBe(6);
  });

  it('never contains the key or a secret of the request, even if the service repeats them', async () => {
    const secret = 'line one of "it" äöü\nline two of it, longer';
    const service = await startService((request, response) => {
      const echoed = [
        String(request.headers['x-api-key']),
        request.body,
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64'),
        'a tiny one: ab; but about stays',
      ];
      json(response, 400, { detail: echoed.join(' | ') });
    });
    const error = await errorOf(
      client(service.url).patchDeployment(ID, {
        secrets: [
          { name: 'LONG', value: secret },
          { name: 'TINY', value: 'ab' },
        ],
      }),
    );
    const shown = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${error.stack ?? ''}`;
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain('line one');
    expect(shown).not.toContain('line two');
    expect(shown).not.toContain('line%20one');
    expect(shown).not.toContain(Buffer.from(secret).toString('base64'));
    expect(error.detail).toContain('a tiny one: [removed]; but about stays');
  });

  it('has a path without the query', async () => {
    const service = await startService(answers(500, {}));
    const error = await errorOf(client(service.url).listDeployments({ name_contains: 'private-name' }));
    expect(error.path).toBe('/v2/deployments');
    expect(error.place).toBe(`${service.url}/v2/deployments`);
    expect(inspect(error)).not.toContain('private-name');
  });
});

describe('A client', () => {
  it.each(['', 'nonsense', 'ftp://host', 'http://user:hunter2@host'])(
    'rejects the base URL "%s"',
    (baseUrl) => {
      const make = (): unknown => createControlPlaneClient({ baseUrl, apiKey: KEY });
      expect(make).toThrow(expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID' }) as Error);
      expect(make).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('hunter2') as string }) as Error,
      );
    },
  );

  it.each(['key\n', ' key', 'kéy', 'a\r\nx-other: b'])(
    'rejects a key that no header carries: %j',
    (apiKey) => {
      const make = (): unknown => createControlPlaneClient({ baseUrl: 'http://127.0.0.1:1', apiKey });
      expect(make).toThrow(expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID' }) as Error);
    },
  );

  it('removes its listener from the caller’s signal after each call', async () => {
    const service = await startService(answers(404, {}));
    const plane = client(service.url);
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (let call = 0; call < 3; call += 1) await errorOf(plane.getDeployment(ID, { signal }));
    expect(listeners).toBeLessThanOrEqual(0);
  });
});
