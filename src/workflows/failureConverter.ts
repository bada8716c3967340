import {
  DefaultFailureConverter,
  type FailureConverter,
  type PayloadConverter,
  type ProtoFailure,
} from '@temporalio/common';

/**
 * Moves the message and the stack trace of each failure into a payload, which the worker's codec encrypts.
 *
 * The SDK's own class also does so, but modifies the original failure: an error that is converted twice would lose
 * its message.
 */
class EncodingFailureConverter extends DefaultFailureConverter {
  override errorToFailure(error: unknown, converter: PayloadConverter): ProtoFailure {
    const failure = this.errorToFailureInner(error, converter);
    const { message, stackTrace } = failure;
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

/** How workflow code converts failures. The bundler looks for this export. */
export const failureConverter: FailureConverter = encodes
  ? new EncodingFailureConverter()
  : new DefaultFailureConverter();
