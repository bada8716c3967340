import { connect, createServer } from 'node:net';
import { listen } from '../support/listen.ts';

/** A way to a server that delays all that clients send, in milliseconds. */
export async function openSlowLine(
  address: string,
  delayMs: number,
): Promise<{ readonly address: string; close(): void }> {
  const [host, port] = address.split(':');
  const line = createServer((client) => {
    const server = connect(Number(port), host);
    server.pipe(client);
    client.on('data', (chunk) => setTimeout(() => server.write(chunk), delayMs));
    client.on('close', () => server.destroy());
    for (const socket of [client, server]) socket.on('error', () => socket.destroy());
  });
  return { address: new URL(await listen(line)).host, close: () => line.close() };
}
