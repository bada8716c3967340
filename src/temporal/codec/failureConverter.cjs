// The converter of failures outside workflow code: of activities, and of workflow tasks and queries that are rejected
// before their handler runs. It moves message and stack trace into a payload, which the codec encrypts.
// The SDK loads this file by its path with `require`, only in the worker.
const { DefaultFailureConverter } = require('@temporalio/common');

/** `QUERY_TOO_EARLY` of `messages/earlyQuery.ts`. It is no secret, and clients recognize it by its text. */
const QUERY_TOO_EARLY = 'the workflow has not handled its newest events yet: ask again';

const readable = new DefaultFailureConverter();
const encoding = new DefaultFailureConverter({ encodeCommonAttributes: true });

exports.failureConverter = {
  errorToFailure: (error, payloads) =>
    (error?.message === QUERY_TOO_EARLY ? readable : encoding).errorToFailure(error, payloads),
  failureToError: (failure, payloads) => encoding.failureToError(failure, payloads),
};
