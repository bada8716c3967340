import { once } from 'node:events';
import { connect } from 'node:net';

const PIECE = Buffer.alloc(1_048_576);

/** Sends a body of so many megabytes to its end, and only then reads the answer. Without a length, it is chunked. */
export async function sendAll(
  method: string,
  url: string,
  {
    megabytes,
    hasLength = false,
    headers = '',
  }: { megabytes: number; hasLength?: boolean; headers?: string },
): Promise<{ status: number; body: unknown }> {
  const { port, pathname } = new URL(url);
  const socket = connect(Number(port));
  const framing = hasLength ? `content-length: ${megabytes * PIECE.length}` : 'transfer-encoding: chunked';
  socket.write(`${method} ${pathname} HTTP/1.1\r\nhost: localhost\r\n${headers}${framing}\r\n\r\n`);
  for (let piece = 0; piece < megabytes; piece++) {
    const parts = hasLength ? [PIECE] : [`${PIECE.length.toString(16)}\r\n`, PIECE, '\r\n'];
    const isFull = parts.map((part) => !socket.write(part)).at(-1);
    if (isFull === true) await once(socket, 'drain');
  }
  if (!hasLength) socket.write('0\r\n\r\n');
  let answer = '';
  for await (const part of socket) {
    answer += String(part);
    if (answer.includes('}')) break;
  }
  socket.destroy();
  const { status, body = '' } = /^HTTP\/1.1 (?<status>\d+)[^]*?(?<body>\{.*\})/u.exec(answer)?.groups ?? {};
  return { status: Number(status), body: JSON.parse(body) };
}
