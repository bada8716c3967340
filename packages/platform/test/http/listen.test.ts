import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { expect, it } from 'vitest';

import { listen } from '../../src/http/listen.ts';

/** The head and the body of the answer to a raw request, on a connection that the server closes. */
async function answerTo(request: string): Promise<{ head: string; body: unknown }> {
  const listening = await listen((_request, response) => response.end(), { port: 0 });
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(request);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  await listening.close();
  return { head, body: JSON.parse(body) };
}

it.each([
  ['that is not HTTP', 'nonsense\r\n\r\n', 400],
  ['with too large headers', `GET / HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
])('a request %s gets an error with a JSON body', async (_, request, status) => {
  const { head, body } = await answerTo(request);
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*content-type: application/json`, 'u'));
  expect(body).toEqual({ detail: expect.stringContaining('could not be read') });
});

it('a request that expects something unknown gets a 417 with a JSON body', async () => {
  const { head, body } = await answerTo(
    'GET / HTTP/1.1\r\nhost: x\r\nexpect: tea\r\nconnection: close\r\n\r\n',
  );
  expect(head).toMatch(/^HTTP\/1.1 417 [^]*content-type: application\/json/u);
  expect(body).toEqual({ detail: 'Expect: only 100-continue is supported.' });
});

it('an idle connection stays open for longer than proxies keep theirs', async () => {
  const listening = await listen((_request, response) => response.end(), { port: 0 });
  const { headers } = await fetch(listening.url);
  expect(headers.get('keep-alive')).toBe('timeout=620');
  await listening.close();
});
