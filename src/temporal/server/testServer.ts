import { Connection, type TestService } from '@temporalio/client';
import {
  type InternalConnectionOptions,
  InternalConnectionOptionsSymbol,
} from '@temporalio/client/lib/connection.js';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';

import { SlipwayError } from '../../domain/errors.ts';
import { addSearchAttributes } from '../client/searchAttributes.ts';
import { type GuardedServer, startGuardedServer } from './guardedServer.ts';

interface TestServerOptions {
  readonly executable: string;
  readonly port: number;
  readonly signal?: AbortSignal;
}

/** Temporal's test server, which can skip time while no activity runs, once a caller enables that. */
export interface TestServer extends GuardedServer {
  readonly address: string;
  readonly namespace: string;
  readonly connection: Connection;
  readonly time: SkippedTime;
}

const HOST = '127.0.0.1';
const NAMESPACE = 'default';

/**
 * Starts a time-skipping test server, waits until it serves, and registers the search attributes.
 * @throws SlipwayError SLIPWAY_TEST_SERVER_UNAVAILABLE, with its last output, if it ends or does not serve in time.
 */
export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const { executable, port, signal } = options;
  const address = `${HOST}:${port}`;
  let connection: Connection | undefined;
  const server = await startGuardedServer({
    executable,
    args: [String(port)],
    serves: async () => {
      connection = await connect(address);
    },
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

/**
 * The time of a test server. The server skips time if it waits for nothing else and the time is not held. While it is
 * held, it passes normally. After the start, the process that started the server holds it.
 */
export class SkippedTime {
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** Milliseconds since 1970. */
  async now(): Promise<number> {
    const { time } = await this.#service.getCurrentTime({});
    return tsToMs(time);
  }

  async hold(): Promise<void> {
    await this.#service.lockTimeSkipping({});
  }

  async release(): Promise<void> {
    await this.#service.unlockTimeSkipping({});
  }

  /** Releases the held time until a moment (milliseconds since 1970; none if it has passed), and holds it again. */
  async until(moment: number): Promise<void> {
    const left = moment - (await this.now());
    if (left > 0) await this.#service.unlockTimeSkippingWithSleep({ duration: msToTs(left) });
  }
}
