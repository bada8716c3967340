import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';

import { describe, expect, it, vi } from 'vitest';

import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { answers, closedPort, json, startService, startSocketService } from '../../clients/faultyService.ts';
import { notice } from '../../domain/notify/notices.ts';
import { activitiesUnderTest, failureOf } from '../activitiesUnderTest.ts';

const SECRET = 'the-key-of-the-signature';
const TOKEN_IN_URL = 'T0123/B0456/a-token-in-a-url';

function slackAt(url: string): ReceiverSpec {
  vi.stubEnv('SLIPWAY_TEST_SLACK_URL', `${url}/services/${TOKEN_IN_URL}`);
  return { kind: 'slack', name: 'ops', url: { from: 'env:SLIPWAY_TEST_SLACK_URL' } };
}

function webhookAt(url: string): ReceiverSpec {
  vi.stubEnv('SLIPWAY_TEST_HOOK_URL', `${url}/hook?token=a-token-in-a-url`);
  vi.stubEnv('SLIPWAY_TEST_HOOK_SECRET', SECRET);
  return {
    kind: 'webhook',
    name: 'audit',
    url: { from: 'env:SLIPWAY_TEST_HOOK_URL' },
    secret: { from: 'env:SLIPWAY_TEST_HOOK_SECRET' },
  };
}

/** The failure of a notice to a receiver. Checks that it does not reveal the receiver's address. */
async function failureOfTelling(receiver: ReceiverSpec, url: string) {
  const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver, notice: notice() }));
  const shown = inspect(failure, { depth: Infinity, showHidden: true, maxStringLength: Infinity });
  for (const hidden of [url, new URL(url).host, TOKEN_IN_URL, 'a-token-in-a-url', SECRET]) {
    expect(shown).not.toContain(hidden);
  }
  return failure;
}

describe('a Slack-compatible webhook', () => {
  it('gets a message, with the notice’s id and event beside it', async () => {
    const service = await startService((_, response) => response.end('ok'));
    const told = activitiesUnderTest().sendNotice({ receiver: slackAt(service.url), notice: notice() });
    await expect(told).resolves.toEqual({ detail: 'answered 200', attempt: 1 });
    const [request] = service.requests;
    expect(request).toMatchObject({ method: 'POST', url: `/services/${TOKEN_IN_URL}` });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'slipway-delivery': notice().id,
      'slipway-event': 'released',
    });
    expect(request?.headers['slipway-signature']).toBeUndefined();
    expect(JSON.parse(request?.body ?? '')).toEqual({
      text: expect.stringContaining('*production: release-3 is released*'),
    });
  });
});

describe('a plain webhook', () => {
  it('gets the whole notice, signed with its time', async () => {
    const service = await startService((_, response) => {
      response.statusCode = 202;
      response.end();
    });
    const before = Math.floor(Date.now() / 1_000);
    await activitiesUnderTest().sendNotice({ receiver: webhookAt(service.url), notice: notice() });
    const [request] = service.requests;
    expect(JSON.parse(request?.body ?? '')).toEqual({ ...notice(), dashboardUrl: null });
    const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/u.exec(
      String(request?.headers['slipway-signature']),
    )!;
    expect(Number(time)).toBeGreaterThanOrEqual(before);
    expect(Number(time)).toBeLessThanOrEqual(Math.floor(Date.now() / 1_000));
    const own = createHmac('sha256', SECRET)
      .update(`${time ?? ''}.${request?.body ?? ''}`)
      .digest('hex');
    expect(digest).toBe(own);
  });

  it('gets the address of the dashboard that the worker knows', async () => {
    const service = await startService((_, response) => response.end());
    const activities = activitiesUnderTest({}, undefined, 'https://slipway.example.com');
    await activities.sendNotice({ receiver: webhookAt(service.url), notice: notice() });
    expect(JSON.parse(service.requests[0]?.body ?? '')).toMatchObject({
      dashboardUrl:
        'https://slipway.example.com/releases/target%3Ahttps%3A%2F%2Fcontrol.test%3Aagent/release-3',
    });
  });

  it('gets the same id and the same body in each attempt', async () => {
    const service = await startService(answers(503, {}));
    const receiver = webhookAt(service.url);
    for (const attempt of [1, 2]) {
      await failureOf(activitiesUnderTest({ attempt }).sendNotice({ receiver, notice: notice() }));
    }
    const [first, second] = service.requests;
    expect(first?.headers['slipway-delivery']).toBe(notice().id);
    expect(second?.headers['slipway-delivery']).toBe(notice().id);
    expect(second?.body).toBe(first?.body);
  });
});

describe('a receiver that cannot be notified', () => {
  it.each([
    [500, 'SLIPWAY_SERVICE_ERROR', false],
    [404, 'SLIPWAY_NOT_FOUND', true],
  ])('and answers %i is a failure %s; final: %s', async (status, type, nonRetryable) => {
    const service = await startService(({ url, headers }, response) =>
      // Some receivers repeat the request in their answer.
      json(response, status, { message: `no: http://${headers.host ?? ''}${url} ${SECRET}` }),
    );
    const failure = await failureOfTelling(webhookAt(service.url), service.url);
    expect(failure).toMatchObject({ type, nonRetryable });
  });

  it.each([
    ['/hook/a%2Bsecret%2Ftoken', 'a+secret/token'],
    ['/hook?a-secret-token', 'a-secret-token'],
    ['/hook?token=a%2bsecret', 'a%2bsecret'],
  ])('and repeats a part of its address %s as %s is a failure without it', async (path, repeated) => {
    const service = await startService(answers(404, { message: `no ${repeated}` }));
    const receiver = webhookAt(service.url);
    vi.stubEnv('SLIPWAY_TEST_HOOK_URL', `${service.url}${path}`);
    const failure = await failureOfTelling(receiver, service.url);
    expect(failure.message).not.toContain(repeated);
    expect(failure.message).toContain('no [removed]');
  });

  it('because it redirects is not followed', async () => {
    const elsewhere = await startService((_, response) => response.end());
    const service = await startService((_, response) => {
      response.writeHead(307, { location: elsewhere.url });
      response.end();
    });
    const failure = await failureOfTelling(slackAt(service.url), service.url);
    expect(failure.message).toContain('Redirects are not followed');
    expect(elsewhere.requests).toEqual([]);
  });

  it('because nothing listens there is retried', async () => {
    const url = await closedPort();
    const failure = await failureOfTelling(slackAt(url), url);
    expect(failure).toMatchObject({ type: 'SLIPWAY_UNREACHABLE', nonRetryable: false });
    expect(failure.message).toContain('the webhook "ops"');
  });

  it('because it never answers is abandoned after 10 s, and retried', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let asked = (): void => undefined;
      const isAsked = new Promise<void>((resolve) => (asked = resolve));
      const service = await startSocketService((socket) => socket.once('data', () => asked()));
      const failing = failureOfTelling(slackAt(service.url), service.url);
      await isAsked;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await failing).toMatchObject({ type: 'SLIPWAY_NO_ANSWER', nonRetryable: false });
    } finally {
      vi.useRealTimers();
    }
  });

  it('sends an endless body is notified anyway: its status is enough', async () => {
    const service = await startService((_, response) => {
      response.writeHead(200);
      response.write('x'.repeat(1_000));
    });
    const told = activitiesUnderTest().sendNotice({ receiver: slackAt(service.url), notice: notice() });
    await expect(told).resolves.toMatchObject({ detail: 'answered 200' });
  });

  it.each(['not a URL', 'ftp://files.example/x', 'https://user:word@hooks.example/x'])(
    'because its URL is "%s" has an error without the URL',
    async (url) => {
      vi.stubEnv('SLIPWAY_TEST_SLACK_URL', url);
      const receiver: ReceiverSpec = {
        kind: 'slack',
        name: 'ops',
        url: { from: 'env:SLIPWAY_TEST_SLACK_URL' },
      };
      const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver, notice: notice() }));
      expect(failure).toMatchObject({ type: 'SLIPWAY_REFUSED', nonRetryable: true });
      expect(inspect(failure, { depth: Infinity })).not.toContain(url);
    },
  );

  it('because the worker has no secret of that name has an error with the name', async () => {
    const receiver: ReceiverSpec = { kind: 'slack', name: 'ops', url: { from: 'env:SLIPWAY_TEST_NOT_SET' } };
    const failure = await failureOf(activitiesUnderTest().sendNotice({ receiver, notice: notice() }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_SECRET_MISSING', nonRetryable: true });
    expect(failure.message).toContain('env:SLIPWAY_TEST_NOT_SET');
  });
});
