import { type AddressInfo, createServer } from 'node:net';

import { SlipwayError } from '../../../domain/errors.ts';

const HOST = '127.0.0.1';

interface PortWish {
  /** The option that sets the port, for the error: `--port`. */
  readonly option: string;
  /** 0: any free port. `undefined`: the preferred one, if it is free, else any. */
  readonly asked: number | undefined;
  readonly preferred: number;
}

/**
 * Finds a free port on the loopback address.
 * @throws SlipwayError SLIPWAY_PORT_UNAVAILABLE if the requested port is not free.
 */
export async function choosePort({ option, asked, preferred }: PortWish): Promise<number> {
  if (asked === 0) return anyPort();
  const port = await tryPort(asked ?? preferred);
  if (typeof port === 'number') return port;
  if (asked === undefined) return anyPort();
  const message =
    port === 'EADDRINUSE'
      ? `another process listens on port ${asked}`
      : `port ${asked} needs more permissions`;
  const hint = `choose another one with ${option}; ${option} 0 takes a free one`;
  throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', message, { place: `${HOST}:${asked}`, hint });
}

/** A free port on the loopback address. @throws SlipwayError SLIPWAY_PORT_UNAVAILABLE if there is none. */
export async function anyPort(): Promise<number> {
  const port = await tryPort(0);
  if (typeof port === 'number') return port;
  throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', 'no port is free to listen on', { place: HOST });
}

function tryPort(port: number): Promise<number | 'EADDRINUSE' | 'EACCES'> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(error.code);
      else reject(error);
    });
    server.listen(port, HOST, () => {
      const address = server.address() as AddressInfo;
      server.close(() => resolve(address.port));
    });
  });
}
