import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

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
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  return { address: `127.0.0.1:${(line.address() as AddressInfo).port}`, close: () => line.close() };
}
