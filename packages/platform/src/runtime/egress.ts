import { createServer, request, type Server } from 'node:http';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

import { pipeBoth } from './containedNetwork.ts';

/** Decides which addresses may be connected to: `ReachableAddresses`. */
interface Addresses {
  refusal(url: string): string | undefined;
  readonly lookup: LookupFunction;
}

/** The timeout of a connection, in milliseconds. */
const CONNECT_MS = 10_000;

/** A proxy (HTTP and CONNECT) that resolves names itself and connects only to checked, allowed addresses. */
export function createEgress(addresses: Addresses): Server {
  const server = createServer((incoming, response) => {
    const url = incoming.url ?? '';
    const refusal = URL.canParse(url) ? addresses.refusal(url) : 'no absolute address';
    if (refusal !== undefined || !url.startsWith('http://')) {
      response.writeHead(403).end(`Refused: ${refusal ?? url}\n`);
      return;
    }
    const { 'proxy-connection': _, ...headers } = incoming.headers;
    const outgoing = request(url, {
      method: incoming.method,
      headers,
      lookup: addresses.lookup,
      agent: false,
    });
    outgoing.setTimeout(0);
    outgoing.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // Unlike `pipe`, it also ends if the answer is cut off.
      pipeline(answer, response, () => undefined);
    });
    outgoing.once('error', (error) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end(`${error.message}\n`);
    });
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.on('connect', (incoming, socket: Socket, head: Buffer) => {
    const target = `http://${incoming.url ?? ''}`;
    const refusal = URL.canParse(target) ? addresses.refusal(target) : 'no host and port';
    const answer = (status: string, why: string): void =>
      void socket.end(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n\r\n${why}\n`);
    socket.on('error', () => undefined);
    if (refusal !== undefined) {
      answer('403 Forbidden', `Refused: ${refusal}`);
      return;
    }
    const { hostname, port } = new URL(target);
    const outgoing = connect({
      host: hostname.replace(/^\[|\]$/gu, ''),
      port: Number(port || 80),
      lookup: addresses.lookup,
      timeout: CONNECT_MS,
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error('The connection took too long.')));
    const onFailure = (error: Error): void => answer('502 Bad Gateway', error.message);
    outgoing.once('error', onFailure);
    outgoing.once('connect', () => {
      // From here on, only the target writes to the client.
      outgoing.off('error', onFailure);
      outgoing.setTimeout(0);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      outgoing.write(head);
      pipeBoth(socket, outgoing);
    });
  });
  return server;
}
