import { MockAgent } from 'undici';
import { describe, expect, it } from 'vitest';

import { download, following } from '../../src/clients/download.ts';
import { closedPort, errorOf, startService } from './faultyService.ts';

const QUERY = '?signature=sesame';

describe('a download', () => {
  it('returns the bytes of a URL, and sends no credentials', async () => {
    const service = await startService((_, response) => void response.end(Buffer.from([0, 255, 10])));
    expect([...(await download(new URL(`${service.url}/rows${QUERY}`), 3))]).toEqual([0, 255, 10]);
    const [{ url, headers } = { url: '', headers: {} }] = service.requests;
    expect(url).toBe(`/rows${QUERY}`);
    expect(Object.keys(headers).toSorted()).toEqual(['accept', 'connection', 'host', 'user-agent']);
  });

  it('follows redirects, also to another origin', async () => {
    const elsewhere = await startService((_, response) => void response.end('rows'));
    const service = await startService(({ url }, response) => {
      const location = url === '/rows' ? '/moved' : `${elsewhere.url}/bucket/rows`;
      response.writeHead(302, { location }).end();
    });
    expect(String(await download(new URL(`${service.url}/rows`), 100))).toBe('rows');
    expect(elsewhere.requests.map(({ url }) => url)).toEqual(['/bucket/rows']);
  });

  it.each<[string, (n: number) => string, number, string]>([
    ['in a circle', () => '/', 1, 'SLIPWAY_BAD_ANSWER'],
    ['six times', (n) => `/${n}`, 6, 'SLIPWAY_BAD_ANSWER'],
  ])('ends if it is redirected %s', async (_, location, requests, code) => {
    const service = await startService((_request, response) => {
      response.writeHead(302, { location: location(service.requests.length) }).end();
    });
    const error = await errorOf(download(new URL(service.url), 100));
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(/is a redirect in a circle|answered with 302/);
    expect(service.requests).toHaveLength(requests);
  });

  it('by https is not redirected to http, where anybody could change the bytes', async () => {
    const agent = new MockAgent();
    agent.disableNetConnect();
    const location = 'http://rows.test/rows';
    agent.get('https://rows.test').intercept({ path: '/' }).reply(302, '', { headers: { location } });
    const sent = following(agent, new URL('https://rows.test')).request({
      ...{ origin: 'https://rows.test', path: '/', method: 'GET' },
    });
    await expect(sent).rejects.toMatchObject({ code: 'REFUSED_REDIRECT' });
    await agent.close();
  });

  it.each([
    ['never answers', 0],
    ['stops in the middle', 2],
  ])('ends at its deadline if the server %s', async (_, bytes) => {
    const service = await startService((_request, response) => {
      if (bytes > 0) response.write('x'.repeat(bytes));
    });
    const error = await errorOf(download(new URL(`${service.url}/rows`), 100, { timeoutMs: 900 }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER' });
    expect(error.message).toContain('within 900ms');
  });

  it('ends if the caller gives it up', async () => {
    const controller = new AbortController();
    const service = await startService(() => controller.abort());
    const given = download(new URL(service.url), 100, { signal: controller.signal });
    expect(await errorOf(given)).toMatchObject({ aborted: true });
  });

  it('with more bytes than allowed is refused', async () => {
    const service = await startService((_, response) => void response.end('12345'));
    const error = await errorOf(download(new URL(`${service.url}/rows`), 4));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER' });
    expect(error.message).toContain('more than 4 bytes');
  });

  it.each([
    [404, 'SLIPWAY_NOT_FOUND'],
    [403, 'SLIPWAY_UNAUTHORIZED'],
    [503, 'SLIPWAY_SERVICE_ERROR'],
  ])('that is answered with %i fails, and its error shows no part of the query', async (status, code) => {
    const service = await startService(({ url }, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ detail: url }));
    });
    const error = await errorOf(download(new URL(`${service.url}/rows${QUERY}`), 100));
    expect(error).toMatchObject({ code, status, place: `${service.url}/rows` });
    expect(JSON.stringify([error.message, error.detail])).not.toContain('sesame');
  });

  it('from a server that does not listen names it', async () => {
    const url = await closedPort();
    expect(await errorOf(download(new URL(`${url}/rows`), 100))).toMatchObject({
      ...{ code: 'SLIPWAY_UNREACHABLE', place: `${url}/rows` },
    });
  });
});
