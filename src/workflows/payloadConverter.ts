import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * Converts payloads as the SDK does, but turns a payload that cannot be decoded into a text that says so.
 *
 * The SDK decodes a raw signal before a handler runs. A payload that cannot be decoded would fail the workflow task
 * again and again (design, rule 9). As a text it reaches the handler, which rejects it like any message that is not
 * an object.
 *
 * Passed to the bundler as `payloadConverterPath`, which looks for this export.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: (payload) => {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch (error) {
      return `a payload that cannot be read: ${String(error)}` as never;
    }
  },
};
