import { once } from 'node:events';
import { connect } from 'node:net';

import { InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';
import {
  Client,
  type ClientOptions,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type WorkflowExecutionDescription,
} from '@temporalio/client';

import { NO_KEYS, type PayloadCipher } from '../codec/payloadCipher.ts';
import { askAgain } from './askAgain.ts';
import {
  isGone,
  isTemporalSilent,
  isUnknownCall,
  orNone,
  temporalError,
  unreachable,
  withoutTls,
} from './temporalError.ts';
import type { TemporalSettings } from './temporalSettings.ts';

export interface TemporalConnection {
  readonly settings: TemporalSettings;
  readonly connection: Connection;
  readonly client: Client;
  close(): Promise<void>;
}

/** Within this time, Temporal answers each call or is unreachable: on an overloaded machine it took over 5 s. */
export const TEMPORAL_ANSWERS_WITHIN_MS = 15_000;

/** Ends a call on a closed connection. Otherwise the SDK's retry throws inside a timer, and the process ends. */
const endOnClosedChannel: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch {
    return new InterceptingCall(CLOSED);
  }
};

const CLOSED: ConstructorParameters<typeof InterceptingCall>[0] = {
  start: (metadata, listener) => {
    const details = 'the connection to Temporal was closed';
    listener?.onReceiveMessage?.(null);
    listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata });
  },
  sendMessageWithContext: () => undefined,
  sendMessage: () => undefined,
  startRead: () => undefined,
  halfClose: () => undefined,
  cancelWithStatus: () => undefined,
  getPeer: () => '',
  getAuthContext: () => null,
};

/** The deadline of a call without one of its own, retries included. Temporal answers a call that waits after 20 s. */
const CALL_ENDS_WITHIN_MS = 60_000;

/**
 * A deadline for calls without one, then the SDK's own retries, then the interceptor that ends a retry on a closed
 * connection. A Temporal that hangs keeps its connections open, so that without a deadline a call would never end.
 * @param maxAttempts - of a call that finds nobody. Default: the SDK's 10, which take about 10 s.
 */
export function callInterceptors(maxAttempts?: number, withinMs = CALL_ENDS_WITHIN_MS): Interceptor[] {
  const endInTime: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall({ ...options, deadline: options.deadline ?? Date.now() + withinMs }));
  return [endInTime, makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts })), endOnClosedChannel];
}

export interface ConnectOptions {
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
}

/**
 * Connects to Temporal, and checks that the namespace exists.
 * @param options.timeoutMs - how long connecting may take. Default: 15,000.
 * @param options.maxAttempts - see {@link callInterceptors}.
 */
export async function connectTemporal(
  settings: TemporalSettings,
  { timeoutMs = TEMPORAL_ANSWERS_WITHIN_MS, maxAttempts }: ConnectOptions = {},
): Promise<TemporalConnection> {
  const { address, apiKey, tls, metadata } = settings.connectionOptions;
  let connection: Connection | undefined;
  try {
    await requireListener(settings, timeoutMs);
    // Lazy: the question about the namespace also shows whether Temporal answers, which saves a call.
    const connected = Connection.lazy({
      address,
      apiKey,
      tls,
      metadata,
      interceptors: callInterceptors(maxAttempts),
      channelArgs: { 'grpc.enable_http_proxy': settings.proxy === undefined ? 0 : 1 },
    });
    connection = connected;
    await connected.withDeadline(Date.now() + timeoutMs, () =>
      connected.workflowService.describeNamespace({ namespace: settings.namespace }),
    );
    return {
      settings,
      connection: connected,
      client: createClient(connected, settings.namespace, { codec: settings.codec }),
      close: () => connected.close(),
    };
  } catch (error) {
    await connection?.close();
    if (isUnknownCall(error))
      throw unreachable(settings, error, `what answers at ${settings.address} is not Temporal`);
    if (connection !== undefined && tls && isTemporalSilent(error)) throw withoutTls(settings, error);
    throw temporalError(error, settings);
  }
}

/**
 * Makes calls to Temporal, and explains a failure to people.
 * @param withinMs - their deadline. Default: none.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE; what the calls throw for another reason.
 */
export async function callTemporal<T>(
  { client, settings }: Pick<TemporalConnection, 'client' | 'settings'>,
  calls: () => Promise<T>,
  withinMs?: number,
): Promise<T> {
  try {
    return await (withinMs === undefined ? calls() : client.withDeadline(Date.now() + withinMs, calls));
  } catch (error) {
    throw temporalError(error, settings);
  }
}

/** The same. `undefined` after an expected failure: that the workflow is gone, or does not answer. */
export function callOrNone<T>(
  temporal: Pick<TemporalConnection, 'client' | 'settings'>,
  isExpected: (error: unknown) => boolean,
  calls: () => Promise<T>,
  withinMs?: number,
): Promise<T | undefined> {
  return callTemporal<T | undefined>(temporal, () => calls().catch(orNone(isExpected)), withinMs);
}

/** A workflow as Temporal describes it; `undefined` if there is none (any longer). @param runId - default: the newest. */
export function describeWorkflow(
  temporal: Pick<TemporalConnection, 'client' | 'settings'>,
  workflowId: string,
  runId?: string,
): Promise<WorkflowExecutionDescription | undefined> {
  const describe = () => temporal.client.workflow.getHandle(workflowId, runId).describe();
  return callOrNone(temporal, isGone, describe, TEMPORAL_ANSWERS_WITHIN_MS);
}

/**
 * Creates a client that repeats early queries and updates ({@link askAgain}).
 * @param options.codec - encrypts payloads. Default: none; then encrypted payloads are rejected.
 */
export function createClient(
  connection: Connection,
  namespace = 'default',
  { codec = NO_KEYS, ...options }: ClientOptions & { readonly codec?: PayloadCipher } = {},
): Client {
  const workflow = [askAgain(connection.workflowService, namespace)];
  const dataConverter = { payloadCodecs: [codec] };
  return new Client({ ...options, connection, namespace, dataConverter, interceptors: { workflow } });
}

const TEMPORAL_PORT = 7233;

/**
 * Fails at once if the host does not exist or refuses connections. The SDK would retry until its timeout. A proxy can
 * reach hosts that this machine cannot.
 */
async function requireListener(settings: TemporalSettings, timeoutMs: number): Promise<void> {
  if (settings.proxy !== undefined) return;
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
