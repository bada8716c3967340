import { inspect } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createFeedbackClient, type FeedbackClient } from '../../src/clients/feedback.ts';
import { answers, json, startService } from './faultyService.ts';

function client(): FeedbackClient {
  const made = createFeedbackClient();
  onTestFinished(() => made.close());
  return made;
}

const TOKEN = 'tok-93fa-secret';

describe('A feedback link', () => {
  it('accepts every field with POST, without a key', async () => {
    const service = await startService(answers(200, {}));
    const feedback = {
      score: 1,
      value: 'good',
      comment: 'as expected',
      correction: { a: [1] },
      metadata: { by: 'a check' },
    };
    await client().submit(`${service.url}/api/v1/feedback/tokens/${TOKEN}`, feedback, {});
    expect(service.requests[0]).toMatchObject({ method: 'POST', url: `/api/v1/feedback/tokens/${TOKEN}` });
    expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual(feedback);
    expect(service.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });

  it('never appears in errors, even if the service repeats it', async () => {
    const service = await startService(({ url }, response) =>
      json(response, 404, { detail: `No ${url} here.` }),
    );
    const link = `${service.url}/api/v1/feedback/tokens/${TOKEN}`;
    const error: unknown = await client()
      .submit(link, { score: 1 }, {})
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'SLIPWAY_NOT_FOUND', path: '/api/v1/feedback/tokens/…' });
    expect(inspect(error, { depth: 9 })).not.toContain(TOKEN);
  });

  it.each(['', 'tokens/x', 'javascript:alert(1)'])(
    'that is not an http URL is rejected: "%s"',
    async (link) => {
      await expect(client().submit(link, {}, {})).rejects.toMatchObject({
        code: 'SLIPWAY_REFUSED',
        mayHaveBeenTaken: false,
      });
    },
  );
});
