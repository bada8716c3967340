import { status as GRPC } from '@grpc/grpc-js';
import {
  isGrpcServiceError,
  NamespaceNotFoundError,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';

import { SlipwayError } from '../../domain/errors.ts';
import type { TemporalSettings } from './temporalSettings.ts';

type Place = Pick<TemporalSettings, 'address' | 'namespace' | 'origin'>;

function grpcStatus(error: unknown): GRPC | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; depth++) {
    if (isGrpcServiceError(current)) return current.code;
    current = current.cause;
  }
  return undefined;
}

/** Whether Temporal itself did not answer: gone, restarting or too slow. A retry may succeed. */
export function isTemporalSilent(error: unknown): boolean {
  const status = grpcStatus(error);
  return status === GRPC.UNAVAILABLE || status === GRPC.RESOURCE_EXHAUSTED || isOutOfTime(error);
}

/** Whether Temporal answered, but the answer is encrypted, and this process lacks its key or has another one of that id. */
export function isSealed(error: unknown): error is SlipwayError {
  return error instanceof SlipwayError && error.code.startsWith('SLIPWAY_PAYLOAD_');
}

/** Handles an answer that cannot be decrypted; throws every other error. */
export function ifSealed<T>(handle: (error: SlipwayError) => T): (error: unknown) => T {
  return (error) => {
    if (isSealed(error)) return handle(error);
    throw error;
  };
}

/** For a `catch`: returns nothing for an expected error, and throws every other one. */
export function orNone(isExpected: (error: unknown) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (!isExpected(error)) throw error;
  };
}

/** Whether a call timed out. The status depends on which side noticed first. */
export function isOutOfTime(error: unknown): boolean {
  const status = grpcStatus(error);
  return status === GRPC.DEADLINE_EXCEEDED || status === GRPC.CANCELLED;
}

/** Whether Temporal answered that no worker could be asked, or that workers keep failing the workflow task. */
export function isWorkerSilent(error: unknown): boolean {
  return grpcStatus(error) === GRPC.FAILED_PRECONDITION;
}

/** Whether no worker has accepted an update yet, perhaps because the machine is busy. */
export function isUntaken(error: unknown): boolean {
  return error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isWorkerSilent(error);
}

/** Whether the server does not know the call. */
export function isUnknownCall(error: unknown): boolean {
  return grpcStatus(error) === GRPC.UNIMPLEMENTED;
}

/** Whether Temporal rejected the request as invalid. */
export function isRejected(error: unknown): boolean {
  return grpcStatus(error) === GRPC.INVALID_ARGUMENT;
}

/** Whether Temporal has no such workflow (any longer). The namespace was checked when connecting. */
export function isGone(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || grpcStatus(error) === GRPC.NOT_FOUND;
}

/** Explains a failed call to Temporal to people. Returns other errors unchanged. */
export function temporalError(error: unknown, place: Place): unknown {
  if (error instanceof SlipwayError) return error;
  const status = grpcStatus(error);
  if (status === GRPC.UNAUTHENTICATED || status === GRPC.PERMISSION_DENIED) {
    const hint = 'check TEMPORAL_API_KEY, TEMPORAL_TLS_… or the profile of temporal.toml';
    return notReached(place, `Temporal at ${place.address} refused the credentials`, hint, error);
  }
  if (error instanceof NamespaceNotFoundError || (status === GRPC.NOT_FOUND && says(error, /namespace/i))) {
    const hint = `set TEMPORAL_NAMESPACE, or run: temporal operator namespace create --namespace ${place.namespace}`;
    return notReached(
      place,
      `Temporal at ${place.address} has no namespace "${place.namespace}"`,
      hint,
      error,
    );
  }
  if (status === GRPC.INVALID_ARGUMENT && says(error, /no mapping defined for search attribute/i)) {
    const what = `namespace "${place.namespace}" lacks search attributes of Slipway`;
    const hint = 'register them: slipway doctor --fix';
    return new SlipwayError('SLIPWAY_SEARCH_ATTRIBUTES_MISSING', what, { hint, cause: error });
  }
  if (isTemporalSilent(error) || isConnectTimeout(error)) return unreachable(place, error);
  return error;
}

export function unreachable(
  place: Place,
  cause: unknown,
  what = `Temporal at ${place.address} does not answer`,
): SlipwayError {
  const hint =
    place.origin === 'environment'
      ? 'check TEMPORAL_ADDRESS (or the profile of temporal.toml), and whether Temporal runs there'
      : 'run "slipway dev", or set TEMPORAL_ADDRESS to a running Temporal';
  return notReached(place, what, hint, cause);
}

function notReached({ address }: Place, what: string, hint: string, cause: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', what, { place: address, hint, cause });
}

export function withoutTls(place: Place, cause: unknown): SlipwayError {
  const what = `Temporal at ${place.address} accepts connections, but does not answer over TLS`;
  const hint = 'check TEMPORAL_TLS_… or the profile of temporal.toml; TEMPORAL_API_KEY turns TLS on, too';
  return notReached(place, what, hint, cause);
}

/**
 * Explains a failed request to people. If Temporal did not answer, or its answer cannot be read, it may have accepted
 * the request.
 * @param outcome - what may follow: `the promotion may still start`.
 */
export function unansweredRequest(error: unknown, place: Place, outcome: string): unknown {
  if (isSealed(error)) {
    const { code, message, place: variable, hint } = error;
    return new SlipwayError(code, `${message}: ${outcome}`, { place: variable, hint, cause: error });
  }
  if (!isTemporalSilent(error)) return temporalError(error, place);
  const message = `Temporal at ${place.address} did not answer: ${outcome}`;
  const hint = 'see what runs: slipway status';
  return new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', message, { hint, cause: error });
}

function says(error: unknown, words: RegExp): boolean {
  return error instanceof Error && words.test(`${error.message} ${String(error.cause)}`);
}

/** The SDK's messages for a connection that could not be opened in time. */
function isConnectTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    /failed to connect|connect.*deadline|tcp connect error|transport error/i.test(error.message)
  );
}
