import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { expect, it, vi } from 'vitest';

import { ReachableAddresses } from '../../src/agentServer/webhooks/reachableAddresses.ts';
import { createEgress } from '../../src/runtime/egress.ts';
import { listen } from '../../../../test/support/listen.ts';

async function portOf(server: Server): Promise<number> {
  return Number(new URL(await listen(server)).port);
}

it('an answer that is cut off is cut off for the client too', async () => {
  const proxy = createEgress(new ReachableAddresses(['127.0.0.1']));
  const target = createHttpServer((_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('a part', () => response.socket?.destroy());
  });
  const url = `http://127.0.0.1:${await portOf(target)}/`;
  const asked = request({ port: await portOf(proxy), path: url }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await expect(text(answer)).rejects.toThrow('aborted');
  proxy.close();
  target.close();
});

it('a tunnel that breaks ends without an answer of the proxy in it', async () => {
  const proxy = createEgress(new ReachableAddresses(['127.0.0.1']));
  const target = createServer();
  const client = connect(await portOf(proxy), '127.0.0.1');
  let received = '';
  client.setEncoding('utf8').on('data', (data: string) => (received += data));
  client.write(`CONNECT 127.0.0.1:${await portOf(target)} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const [far] = (await once(target, 'connection')) as [Socket];
  far.write('from the target');
  await vi.waitFor(() => expect(received).toContain('from the target'), 10_000);
  far.resetAndDestroy();
  await once(client, 'close');
  expect(received).toBe('HTTP/1.1 200 Connection established\r\n\r\nfrom the target');
  proxy.close();
  target.close();
});
