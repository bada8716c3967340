import { type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { inspect } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { type ControlPlaneClient, createControlPlaneClient } from '../../src/clients/controlPlane.ts';
import { type ServiceOptions } from '../../src/clients/service.ts';
import { ServiceError } from '../../src/clients/serviceError.ts';
import { SlipwayError } from '../../src/domain/errors.ts';
import { closedPort, json, startService, startSocketService, until } from './faultyService.ts';

const ID = '11111111-1111-4111-8111-111111111111';
const REVISION = '22222222-2222-4222-8222-222222222222';
const KEY = 'key-8f31c7';

function client(baseUrl: string, options: Partial<ServiceOptions> = {}): ControlPlaneClient {
  const made = createControlPlaneClient({ baseUrl, apiKey: KEY, timeoutMs: 5_000, ...options });
  onTestFinished(() => made.close());
  return made;
}

async function errorOf(call: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await call.then(
    () => new Error('The call succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ServiceError)) throw error;
  return error;
}

describe('An answered status', () => {
  it.each([
    [300, 'SLIPWAY_BAD_ANSWER', true],
    [302, 'SLIPWAY_BAD_ANSWER', true],
    [307, 'SLIPWAY_BAD_ANSWER', false],
    [308, 'SLIPWAY_BAD_ANSWER', false],
    [400, 'SLIPWAY_REFUSED', false],
    [401, 'SLIPWAY_UNAUTHORIZED', false],
    [403, 'SLIPWAY_UNAUTHORIZED', false],
    [404, 'SLIPWAY_NOT_FOUND', false],
    [405, 'SLIPWAY_REFUSED', false],
    [408, 'SLIPWAY_SERVICE_ERROR', false],
    [409, 'SLIPWAY_CONFLICT', false],
    [410, 'SLIPWAY_NOT_FOUND', false],
    [413, 'SLIPWAY_REFUSED', false],
    [422, 'SLIPWAY_REFUSED', false],
    [423, 'SLIPWAY_CONFLICT', false],
    [429, 'SLIPWAY_RATE_LIMITED', false],
    [500, 'SLIPWAY_SERVICE_ERROR', true],
    [502, 'SLIPWAY_SERVICE_ERROR', true],
    [503, 'SLIPWAY_SERVICE_ERROR', true],
    [504, 'SLIPWAY_SERVICE_ERROR', true],
  ])('%i is %s and may have been taken: %s', async (status, code, mayHaveBeenTaken) => {
    const service = await startService((_, response) => json(response, status, { detail: 'Said why.' }));
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code, status, mayHaveBeenTaken, detail: 'Said why.', method: 'POST' });
    expect(error.path).toBe(`/v2/deployments/${ID}/revisions/${REVISION}/redeploy`);
    expect(error.message).toContain('Said why.');
    expect(service.requests).toHaveLength(1);
  });

  it('keeps the issues of a 422, and of each only what the contract names', async () => {
    const issue = {
      loc: ['body', 'secrets', 0, 'value'],
      msg: 'Bad',
      type: 'string_type',
      input: 'hunter2secret',
    };
    const service = await startService((_, response) => json(response, 422, { detail: [issue] }));
    const error = await errorOf(client(service.url).patchDeployment(ID, {}));
    expect(error.detail).toEqual([{ loc: ['body', 'secrets', 0, 'value'], msg: 'Bad', type: 'string_type' }]);
    expect(error.message).toContain('body.secrets.0.value: Bad');
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2secret');
  });

  it('speaks for itself where the body is no JSON, cut off, or endless', async () => {
    const bodies: ((response: ServerResponse) => void)[] = [
      (response) => response.end('<html>Bad gateway</html>'),
      (response) => response.write('{"detail": "half', () => response.destroy()),
      (response) => response.end('x'.repeat(200_000)),
      (response) => response.end('null'),
      (response) => response.end(),
    ];
    const service = await startService((_, response) => {
      response.writeHead(502, { 'retry-after': '7' });
      bodies[service.requests.length - 1]!(response);
    });
    const plane = client(service.url);
    for (let call = 0; call < bodies.length; call += 1) {
      const error = await errorOf(plane.getDeployment(ID));
      expect(error).toMatchObject({
        status: 502,
        code: 'SLIPWAY_SERVICE_ERROR',
        detail: undefined,
        retryAfterMs: 7000,
      });
    }
  });

  it('is not waited for beyond the time limit when its body drips', async () => {
    const service = await startService((_, response) => {
      response.writeHead(503);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const error = await errorOf(client(service.url).getDeployment(ID, { timeoutMs: 100 }));
    expect(error).toMatchObject({ status: 503, code: 'SLIPWAY_SERVICE_ERROR' });
  });

  it('says how long to wait, in both forms of Retry-After', async () => {
    const now = Date.parse('2026-11-21T10:00:00Z');
    const headers = [
      { 'retry-after': '12' },
      { 'retry-after': new Date(now + 90_000).toUTCString(), date: new Date(now).toUTCString() },
      { 'retry-after': new Date(now - 90_000).toUTCString(), date: new Date(now).toUTCString() },
      { 'retry-after': 'soon' },
      {},
    ];
    const service = await startService((_, response) =>
      json(response, 429, { detail: 'Slow down.' }, headers[service.requests.length - 1]),
    );
    const waits: (number | undefined)[] = [];
    for (const _ of headers) waits.push((await errorOf(client(service.url).getDeployment(ID))).retryAfterMs);
    expect(waits).toEqual([12_000, 90_000, 0, undefined, undefined]);
  });

  it('is never a redirect that is followed, above all not to another origin', async () => {
    const other = await startService((_, response) => json(response, 200, {}));
    const service = await startService((_, response) => json(response, 307, {}, { location: other.url }));
    const error = await errorOf(client(service.url).getDeployment(ID));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', status: 307 });
    expect(other.requests).toEqual([]);
  });
});

describe('A successful status with a bad answer', () => {
  it.each([
    ['garbage', '\u0000\u0001{{{'],
    ['nothing', ''],
    ['another shape', '{"id": 7}'],
    ['the wrong type', '[]'],
    ['cut JSON', '{"id": "'],
  ])('is BAD_ANSWER and may have been taken: %s', async (_name, body) => {
    const service = await startService((_, response) => response.end(body));
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', mayHaveBeenTaken: true, status: 200 });
    expect(inspect(error)).not.toContain('{{{');
  });

  it('is BAD_ANSWER when it is larger than the bound, and is not read to its end', async () => {
    let written = 0;
    const service = await startService((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('"'.repeat(65_536))) written += 65_536;
        response.once('drain', more);
      };
      more();
    });
    const error = await errorOf(client(service.url, { maxAnswerBytes: 100_000 }).getDeployment(ID));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', mayHaveBeenTaken: true });
    await until(() => service.open() === 0);
    expect(written).toBeLessThan(50_000_000);
  });

  it('is BAD_ANSWER when it is not HTTP at all', async () => {
    const service = await startSocketService((socket) => {
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    });
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', mayHaveBeenTaken: true, status: undefined });
  });
});

describe('A request that surely was not taken', () => {
  it('was refused its connection', async () => {
    const error = await errorOf(client(await closedPort()).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false, status: undefined });
    expect(error.message).toContain('the connection was refused');
  });

  it('has a host whose name does not resolve', async () => {
    // A label of 64 characters is one more than a name may have: no server is asked.
    const error = await errorOf(client(`http://${'a'.repeat(64)}.invalid`).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false });
  });

  it('ran out of time while waiting for a connection', async () => {
    const service = await startSocketService(() => undefined);
    const plane = client(service.url, { connections: 1 });
    const first = errorOf(plane.getDeployment(ID, { timeoutMs: 300 }));
    await until(() => service.open() === 1);
    const second = await errorOf(plane.redeployRevision(ID, REVISION, { timeoutMs: 50 }));
    expect(second).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false });
    expect(await first).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });

  it('was given up before it was sent', async () => {
    const service = await startService((_, response) => json(response, 200, {}));
    const error = await errorOf(
      client(service.url).redeployRevision(ID, REVISION, { signal: AbortSignal.abort() }),
    );
    expect(error).toMatchObject({ code: 'SLIPWAY_UNREACHABLE', mayHaveBeenTaken: false, aborted: true });
    expect(service.connections()).toBe(0);
  });

  it('was given up while it waited for a connection, and is not sent afterwards', async () => {
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
    expect(await second).toMatchObject({ mayHaveBeenTaken: false, aborted: true });
    sockets[0]?.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}');
    await errorOf(first);
    const third = errorOf(plane.getRevision(ID, REVISION, { timeoutMs: 200 }));
    await until(() => seen.length === 2);
    expect(seen[1]).toBe(`GET /v2/deployments/${ID}/revisions/${REVISION} HTTP/1.1`);
    await third;
  });

  it('has an id that would lead to another path', async () => {
    const service = await startService((_, response) => json(response, 200, {}));
    for (const id of ['', '..', '../secrets', 'x/y', 'not-a-uuid']) {
      const error = await errorOf(client(service.url).getDeployment(id));
      expect(error).toMatchObject({ code: 'SLIPWAY_REFUSED', mayHaveBeenTaken: false });
      expect(error.detail).toMatchObject([{ loc: ['path', 'deployment_id'] }]);
    }
    expect(service.requests).toEqual([]);
  });
});

describe('A request that may have been taken', () => {
  it('lost its connection before the service read it: the sender cannot tell', async () => {
    const service = await startSocketService((socket) => socket.destroy());
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
  });

  it.each([
    ['closed', (socket: Socket) => socket.end()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('had its connection %s after the service read it', async (_how, close) => {
    const service = await startSocketService((socket) => socket.once('data', () => close(socket)));
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, status: undefined });
  });

  it('had its answer cut off', async () => {
    const service = await startSocketService((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":'));
    });
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, status: 200 });
  });

  it('got no answer in time', async () => {
    const service = await startService(() => undefined);
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION, { timeoutMs: 80 }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, aborted: false });
    expect(error.message).toContain('80 ms');
    await until(() => service.open() === 0);
  });

  it('got its answer too slowly', async () => {
    const service = await startService((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION, { timeoutMs: 80 }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, status: 200 });
  });

  it('was given up after it was sent', async () => {
    const service = await startService(() => undefined);
    const giveUp = new AbortController();
    const call = errorOf(client(service.url).redeployRevision(ID, REVISION, { signal: giveUp.signal }));
    await until(() => service.requests.length === 1);
    giveUp.abort();
    expect(await call).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true, aborted: true });
  });

  it('met a kept-alive connection that was closed as it was written', async () => {
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
  it('is used again: the pool opens a second one at most for calls that follow each other', async () => {
    const service = await startService((_, response) => json(response, 404, { detail: 'Gone.' }));
    const plane = client(service.url);
    for (let call = 0; call < 20; call += 1) await errorOf(plane.getDeployment(ID));
    expect(service.connections()).toBeLessThanOrEqual(2);
    expect(service.requests).toHaveLength(20);
  });

  it('is never one more than the pool may have', async () => {
    const service = await startService((_, response) => json(response, 404, { detail: 'Gone.' }));
    const plane = client(service.url, { connections: 3 });
    await Promise.all(Array.from({ length: 20 }, () => errorOf(plane.getDeployment(ID))));
    expect(service.connections()).toBeLessThanOrEqual(3);
    expect(service.requests).toHaveLength(20);
  });

  it('that the service closed while it was idle is replaced before anything is written to it', async () => {
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

  it('never holds the key or a secret of the request, however the service repeats them', async () => {
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
    const service = await startService((_, response) => json(response, 500, {}));
    const error = await errorOf(client(service.url).listDeployments({ name_contains: 'private-name' }));
    expect(error.path).toBe('/v2/deployments');
    expect(error.place).toBe(`${service.url}/v2/deployments`);
    expect(inspect(error)).not.toContain('private-name');
  });
});

describe('A client', () => {
  it.each(['', 'nonsense', 'ftp://host', 'http://user:hunter2@host'])(
    'refuses the base URL "%s"',
    (baseUrl) => {
      const make = (): unknown => createControlPlaneClient({ baseUrl, apiKey: KEY });
      expect(make).toThrow(expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID' }) as Error);
      expect(make).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('hunter2') as string }) as Error,
      );
    },
  );

  it.each(['key\n', ' key', 'kéy', 'a\r\nx-other: b'])(
    'refuses a key that no header carries: %j',
    (apiKey) => {
      const make = (): unknown => createControlPlaneClient({ baseUrl: 'http://127.0.0.1:1', apiKey });
      expect(make).toThrow(expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID' }) as Error);
    },
  );

  it("lets go of the caller's signal after each call", async () => {
    const service = await startService((_, response) => json(response, 404, {}));
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
