import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/**
 * How workflow code reads and writes payloads: as the SDK does, but what cannot be read becomes a text that says so.
 *
 * The SDK decodes a raw signal before any handler of ours sees it, and a payload that it cannot decode fails the
 * workflow task, again and again, for ever (design, rule 9). As a text it reaches the handler, which refuses it like
 * any other message that is not an object.
 *
 * Given to the bundler as `payloadConverterPath`, which looks for this name.
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
