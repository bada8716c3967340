// The converter of activities' failures. It moves message and stack trace into a payload, which the codec encrypts.
// The SDK loads this file by its path with `require`, only in the worker.
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
