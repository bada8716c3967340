import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { expect, it } from 'vitest';

import { listen } from '../../src/http/listen.ts';

it.each([
  ['that is not HTTP', 'nonsense\r\n\r\n', 400],
  ['with too large headers', `GET / HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
])('a request %s gets an error with a JSON body', async (_, request, status) => {
  const listening = await listen((_request, response) => response.end(), { port: 0 });
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(request);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  await listening.close();
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*content-type: application/json`, 'u'));
  expect(JSON.parse(body)).toEqual({ detail: expect.stringContaining('could not be read') });
});
