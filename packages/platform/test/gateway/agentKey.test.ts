import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { useGateway } from './standIns.ts';

const { agent, serveWith, at } = useGateway();

async function seenBy(sent: Record<string, string>): Promise<IncomingHttpHeaders> {
  let seen: IncomingHttpHeaders = {};
  const one = await agent((request, response) => {
    seen = request.headers;
    response.end();
  });
  await serveWith(one);
  expect((await fetch(at('/info'), { headers: sent })).status).toBe(200);
  return seen;
}

describe('an agent with its own key', () => {
  it('receives that key, and never the client’s platform key', async () => {
    const tenant = { 'x-tenant-id': 'a tenant' };
    const shown: Record<string, string>[] = [{ 'X-API-Key': 'secret' }, { authorization: 'Bearer secret' }];
    for (const credentials of shown) {
      const seen = await seenBy({ ...credentials, ...tenant });
      expect(seen['x-api-key']).toBe('key of d1');
      expect(JSON.stringify(seen)).not.toMatch(/secret|a tenant/);
    }
  });

  it('receives the authorization that is meant for it', async () => {
    const seen = await seenBy({ 'x-api-key': 'secret', authorization: 'Bearer for the agent' });
    expect(seen).toMatchObject({ 'x-api-key': 'key of d1', authorization: 'Bearer for the agent' });
  });
});
