import { Connection } from '@temporalio/client';
import {
  type InternalConnectionOptions,
  InternalConnectionOptionsSymbol,
} from '@temporalio/client/lib/connection.js';

import { SlipwayError } from '../../domain/errors.ts';
import { addSearchAttributes } from '../client/searchAttributes.ts';
import { type GuardedServer, startGuardedServer } from './guardedServer.ts';
import { SkippedTime } from './skippedTime.ts';

/** How a time-skipping test server is started. */
export interface TestServerOptions {
  readonly executable: string;
  /** A free port. */
  readonly port: number;
  readonly signal?: AbortSignal;
  /** How long it may take until it serves, in milliseconds. Default: 60,000. */
  readonly readyTimeoutMs?: number;
}

/**
 * A running test server of Temporal's, whose time is skipped where nothing happens. Its time passes as everybody's until
 * it is told to skip.
 */
export interface TestServer extends GuardedServer {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  readonly connection: Connection;
  readonly time: SkippedTime;
}

const HOST = '127.0.0.1';
/** The only one that it has. */
const NAMESPACE = 'default';

/**
 * Starts a time-skipping test server and waits until it serves, with the search attributes registered.
 *
 * @throws SlipwayError SLIPWAY_TEST_SERVER_UNAVAILABLE, with what it printed last, where it ends or does not serve in time.
 */
export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const { executable, port, signal, readyTimeoutMs = 60_000 } = options;
  const address = `${HOST}:${port}`;
  let connection: Connection | undefined;
  const server = await startGuardedServer({
    executable,
    args: [String(port)],
    serves: async () => {
      connection = await connect(address);
    },
    readyTimeoutMs,
    signal,
    didNotServe: ({ message, cause }) =>
      new SlipwayError('SLIPWAY_TEST_SERVER_UNAVAILABLE', `Temporal's test server ${message}`, {
        place: executable,
        hint: 'read its output; if the program no longer runs, delete it, and Slipway installs it again',
        cause,
      }),
  });
  const connected = connection;
  if (connected?.testService === undefined) throw new Error('the connection has no test service');
  return {
    exited: server.exited,
    stop: async () => {
      await connected.close();
      await server.stop();
    },
    address,
    namespace: NAMESPACE,
    connection: connected,
    time: new SkippedTime(connected.testService),
  };
}

async function connect(address: string): Promise<Connection> {
  const options: InternalConnectionOptions = {
    address,
    connectTimeout: CONNECT_TIMEOUT_MS,
    [InternalConnectionOptionsSymbol]: { supportsTestService: true },
  };
  const connection = await Connection.connect(options);
  try {
    await addSearchAttributes(connection, NAMESPACE);
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

const CONNECT_TIMEOUT_MS = 2_000;
