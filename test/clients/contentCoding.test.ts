import { createBrotliCompress, createDeflate, createGzip, gzipSync } from 'node:zlib';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createRunApiClient } from '../../src/clients/runApi.ts';
import { client } from './controlPlaneUnderTest.ts';
import { errorOf, startService } from './faultyService.ts';

const ID = '8b1f9f5e-2f4d-4c8e-9a51-0c6c2f1f7a10';
const PAGE = { resources: [], offset: 0 };

describe('A service that compresses without being asked', () => {
  it.each([
    ['gzip', createGzip],
    ['deflate', createDeflate],
    ['br', createBrotliCompress],
  ])('is read: %s', async (coding, compress) => {
    const service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding });
      const encoder = compress();
      encoder.pipe(response);
      encoder.end(JSON.stringify(PAGE));
    });
    expect(await client(service.url).listDeployments({})).toEqual(PAGE);
  });

  it.each(['gzip', 'deflate', 'br'])('may have nothing to compress: %s', async (coding) => {
    const service = await startService((_, response) => {
      response.writeHead(200, { 'content-encoding': coding });
      response.end();
    });
    await client(service.url).deleteDeployment(ID, {});
    const error = await errorOf(client(service.url).listDeployments({}));
    expect(error).toMatchObject({ code: 'SLIPWAY_BAD_ANSWER', message: expect.stringContaining('empty') });
  });

  it('is read event by event', async () => {
    const service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      const encoder = createGzip();
      encoder.pipe(response);
      // It never ends.
      encoder.write('data: 1\n\n');
      encoder.flush();
    });
    const agent = createRunApiClient({ baseUrl: service.url });
    onTestFinished(() => agent.close());
    for await (const { data } of await agent.streamStatelessRun({ assistant_id: 'agent', input: {} })) {
      expect(data).toBe(1);
      break;
    }
  });

  it('gave no complete answer if it was cut off', async () => {
    const service = await startService((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(PAGE)).subarray(0, 20));
    });
    const error = await errorOf(client(service.url).listDeployments({}));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_ANSWER', mayHaveBeenTaken: true });
    expect(error.message).toMatch(/: it ended before its end$/u);
  });
});
