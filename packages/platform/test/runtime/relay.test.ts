import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';

import { expect, it, vi } from 'vitest';

import { pipeBoth } from '../../src/runtime/containedNetwork.ts';
import { listen } from '../../../../test/support/listen.ts';

it('a slow reader gets all of a connection that has closed', async () => {
  const server = createServer({ allowHalfOpen: true });
  const { port } = new URL(await listen(server));
  const client = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  const [from] = (await once(server, 'connection')) as [Socket];
  const written: string[] = [];
  let takeMore: () => void = () => undefined;
  const slow = new Duplex({
    read: () => void slow.push(null),
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      takeMore = done;
    },
  });
  pipeBoth(from, slow);
  client.write('the beginning, ');
  await vi.waitFor(() => expect(written).toHaveLength(1), 10_000);
  client.end('the end');
  await once(from, 'close');
  takeMore();
  await vi.waitFor(() => expect(written.join('')).toBe('the beginning, the end'), 10_000);
  takeMore();
  await once(slow, 'close');
  server.close();
});
