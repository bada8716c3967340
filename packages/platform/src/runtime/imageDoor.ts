import { connect } from 'node:net';
import { join } from 'node:path';

import { openProxyPort, SOCKETS, startRelay } from './containedNetwork.ts';

/*
 * The program of the container that shares its network with an image's container. That network has only a loopback:
 * the sockets in a folder lead in to the image's server, and out to the platform's proxy.
 *
 * Arguments: the folder, the port of the image's server.
 */
const [folder = SOCKETS.folder, port] = process.argv.slice(2);
await openProxyPort(folder);
await startRelay({ path: join(folder, SOCKETS.agent) }, () =>
  connect({ port: Number(port), host: '127.0.0.1' }),
);
// The first process of a container ignores signals without a handler.
process.once('SIGTERM', () => process.exit(0));
