// The messages and stack traces of activities' failures, as a payload of each failure, which the codec encrypts. The SDK
// loads it by its path, in the worker alone, and only with `require`.
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
