import {
  DefaultFailureConverter,
  type FailureConverter,
  type PayloadConverter,
  type ProtoFailure,
} from '@temporalio/common';

import { QUERY_TOO_EARLY } from '../messages/earlyQuery.ts';

/**
 * Puts the message and the stack trace of each failure into a payload, which the worker's codec encrypts.
 *
 * The SDK's own class does the same, but changes the failure that an error was made from: an error that is written twice
 * would lose its message. A refused query is no secret, and clients know it by its text.
 */
class EncodingFailureConverter extends DefaultFailureConverter {
  override errorToFailure(error: unknown, converter: PayloadConverter): ProtoFailure {
    const failure = this.errorToFailureInner(error, converter);
    const { message, stackTrace } = failure;
    if (message === QUERY_TOO_EARLY) return failure;
    return {
      ...failure,
      message: 'Encoded failure',
      stackTrace: '',
      encodedAttributes: converter.toPayload({ message, stack_trace: stackTrace }),
    };
  }
}

/** Set by a worker that encrypts (`worker.ts`), before the bundle runs. */
const { slipwayEncodesFailures: encodes = false } = globalThis as {
  readonly slipwayEncodesFailures?: boolean;
};

/** How workflow code writes failures. The bundler looks for this name. */
export const failureConverter: FailureConverter = encodes
  ? new EncodingFailureConverter()
  : new DefaultFailureConverter();
