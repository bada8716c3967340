import { InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';

/**
 * Ends a call on a closed connection with the status `CANCELLED`. Without it, a call that the SDK retries after the
 * connection was closed throws in a timer, where nothing can catch it: the process ends.
 */
export const endOnClosedChannel: Interceptor = (options, nextCall) => {
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
