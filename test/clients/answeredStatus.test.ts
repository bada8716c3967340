import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { client, ID, REVISION } from './controlPlaneUnderTest.ts';
import { answers, errorOf, startService, startSocketService, until } from './faultyService.ts';

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
    const service = await startService(answers(status, { detail: 'Said why.' }));
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code, status, mayHaveBeenTaken, detail: 'Said why.', method: 'POST' });
    expect(error.path).toBe(`/v2/deployments/${ID}/revisions/${REVISION}/redeploy`);
    expect(error.message).toContain('Said why.');
    if (mayHaveBeenTaken) expect(error.hint).toBeDefined();
    expect(service.requests).toHaveLength(1);
  });

  it('keeps the issues of a 422, with only the contract’s fields', async () => {
    const issue = {
      loc: ['body', 'secrets', 0, 'value'],
      msg: 'Bad',
      type: 'string_type',
      input: 'hunter2secret',
    };
    const service = await startService(answers(422, { detail: [issue] }));
    const error = await errorOf(client(service.url).patchDeployment(ID, {}));
    expect(error.detail).toEqual([{ loc: ['body', 'secrets', 0, 'value'], msg: 'Bad', type: 'string_type' }]);
    expect(error.message).toContain('body.secrets.0.value: Bad');
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2secret');
  });

  it.each([
    [{ detail: { code: 'not_found', message: 'Said why.' } }, 'Said why.'],
    [{ error: { code: 404, message: 'Said why.' } }, 'Said why.'],
    [{ detail: ['One.', 'Two.'] }, 'One.; Two.'],
  ])('keeps the detail of services with another form: %j', async (body, words) => {
    const service = await startService(answers(404, body));
    const error = await errorOf(client(service.url).getDeployment(ID));
    expect(error.message).toContain(`was answered with 404: ${words}`);
  });

  it('is enough if the body is no JSON, truncated, or endless', async () => {
    const bodies: ((response: ServerResponse) => void)[] = [
      (response) => response.end('<html>Bad gateway</html>'),
      (response) => response.write('{"detail": "half', () => response.destroy()),
      (response) => response.end('x'.repeat(200_000)),
      (response) => response.end('null'),
      (response) => response.end(),
    ];
    const service = await startService((_, response) => {
      const [date, then] = [0, 7_000].map((time) => new Date(time).toUTCString());
      response.writeHead(502, { date, 'retry-after': then });
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

  it('does not exceed the timeout if its body arrives slowly', async () => {
    const service = await startService((_, response) => {
      response.writeHead(503);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
    });
    const error = await errorOf(client(service.url).getDeployment(ID, { timeoutMs: 2_000 }));
    expect(error).toMatchObject({ status: 503, code: 'SLIPWAY_SERVICE_ERROR' });
  });

  it('is never a followed redirect, especially not to another origin', async () => {
    const other = await startService(answers(200, {}));
    const service = await startService(answers(307, {}, { location: other.url }));
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

  it('is BAD_ANSWER if it is larger than the limit, and is not read to its end', async () => {
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

  it('is BAD_ANSWER if it is not HTTP', async () => {
    const service = await startSocketService((socket) => {
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    });
    const error = await errorOf(client(service.url).redeployRevision(ID, REVISION));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', mayHaveBeenTaken: true, status: undefined });
  });
});
