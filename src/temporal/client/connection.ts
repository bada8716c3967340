import { once } from 'node:events';
import { connect } from 'node:net';

import {
  Client,
  type ClientOptions,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

import { endOnClosedChannel } from './closedChannel.ts';
import { queryAgain } from './queryAgain.ts';
import { temporalError, unreachable } from './temporalError.ts';
import type { TemporalSettings } from './temporalSettings.ts';

/** A client of Temporal, and where it leads. */
export interface TemporalConnection {
  readonly settings: TemporalSettings;
  readonly connection: Connection;
  readonly client: Client;
  close(): Promise<void>;
}

/**
 * A Temporal that does not answer one call within this time is not there. One beside far too much other work has taken
 * more than 5 s.
 */
export const TEMPORAL_ANSWERS_WITHIN_MS = 15_000;

/** The SDK's own retries, and below them what ends a retry on a closed connection. */
export const CALL_INTERCEPTORS = [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), endOnClosedChannel];

/**
 * Connects to Temporal, and makes sure that it has the namespace.
 *
 * @param timeoutMs - how long connecting may take. Default: 15,000.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function connectTemporal(
  settings: TemporalSettings,
  timeoutMs: number = TEMPORAL_ANSWERS_WITHIN_MS,
): Promise<TemporalConnection> {
  const { address, apiKey, tls, metadata } = settings.connectionOptions;
  let connection: Connection | undefined;
  try {
    await requireListener(settings, timeoutMs);
    const connected = await Connection.connect({
      address,
      apiKey,
      tls,
      metadata,
      connectTimeout: timeoutMs,
      interceptors: CALL_INTERCEPTORS,
    });
    connection = connected;
    await connected.withDeadline(Date.now() + timeoutMs, () =>
      connected.workflowService.describeNamespace({ namespace: settings.namespace }),
    );
    return {
      settings,
      connection: connected,
      client: createClient(connected, settings.namespace),
      close: () => connected.close(),
    };
  } catch (error) {
    await connection?.close();
    throw temporalError(error, settings);
  }
}

/** A client whose queries are asked again where that helps (`queryAgain.ts`). */
export function createClient(
  connection: Connection,
  namespace = 'default',
  options: ClientOptions = {},
): Client {
  const workflow = [queryAgain(connection.workflowService, namespace)];
  return new Client({ ...options, connection, namespace, interceptors: { workflow } });
}

/** Through one of these gRPC reaches hosts that this machine does not reach itself. */
const PROXIES = ['grpc_proxy', 'https_proxy', 'http_proxy'];
const TEMPORAL_PORT = 7233;

/**
 * Fails at once if the host does not exist or refuses connections: the SDK goes on trying until its time is up.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
async function requireListener(settings: TemporalSettings, timeoutMs: number): Promise<void> {
  if (PROXIES.some((name) => process.env[name] !== undefined)) return;
  const { hostname, port } = new URL(`tcp://${settings.address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: port === '' ? TEMPORAL_PORT : Number(port) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ABORT_ERR') throw unreachable(settings, error);
    if (code === 'ECONNREFUSED') {
      throw unreachable(settings, error, `Temporal at ${settings.address} refuses connections`);
    }
    if (code === 'ENOTFOUND') throw unreachable(settings, error, `the host "${host}" does not exist`);
  } finally {
    socket.destroy();
  }
}
