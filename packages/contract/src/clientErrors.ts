import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Answers requests that Node refuses before any handler sees them: not HTTP, too large headers, or late. They get Node's
 * status with the body of every error (`ErrorDetail`), which Node's own answers lack.
 */
export function answerClientErrors(server: Server): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Duplex) => {
    // Node's own field: an answer that has begun must not be mixed with another one.
    const { _httpMessage: begun } = socket as { readonly _httpMessage?: ServerResponse | null };
    if (!socket.writable || begun?.headersSent === true) {
      socket.destroy();
      return;
    }
    const status = STATUS[code] ?? 400;
    const title = STATUS_CODES[status] ?? '';
    const body = JSON.stringify({ detail: `${title}: the request could not be read.` });
    const head = `HTTP/1.1 ${status} ${title}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
  });
}
