import { createSecretKey, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

import { ApplicationFailure, type FailureConverter, type Payload } from '@temporalio/common';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { encodeFailure } from '@temporalio/common/lib/internal-non-workflow/index.js';
import protos from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { QUERY_TOO_EARLY } from '../../../src/messages/earlyQuery.ts';
import { PayloadCipher, workerCodec } from '../../../src/temporal/codec/payloadCipher.ts';
import { asText, decode, decodeEvents } from '../../../src/temporal/history/payloads.ts';

const { History } = protos.temporal.api.history.v1;
const cipher = new PayloadCipher([{ id: 'only', key: createSecretKey(randomBytes(32)) }]);
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const rawOf = (value: { readonly constructor: unknown }): string =>
  Buffer.from(History.encode(value as never).finish()).toString('latin1');

let failures: FailureConverter;
beforeAll(async () => {
  vi.stubGlobal('slipwayEncodesFailures', true);
  vi.resetModules();
  ({ failureConverter: failures } = await import('../../../src/workflows/failureConverter.ts'));
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

describe('an encrypted history', () => {
  it('gets its payloads, failures and their causes back by decoding, and shows none of it before', async () => {
    const error = ApplicationFailure.create({
      message: 'planted-message',
      details: ['planted-detail'],
      cause: new Error('planted-cause'),
    });
    const failure = await encodeFailure([cipher], failures.errorToFailure(error, defaultPayloadConverter));
    const payloads = await cipher.encode([payloadOf({ input: 'planted-input' })]);
    const history = History.create({
      events: [
        { workflowExecutionStartedEventAttributes: { input: { payloads } } },
        { workflowExecutionFailedEventAttributes: { failure } },
      ],
    });
    expect(rawOf(history)).not.toContain('planted');
    expect(rawOf(history)).toContain('Encoded failure');

    await decodeEvents(cipher, history.events);
    const [started, failed] = history.events;
    expect(decode(started!.workflowExecutionStartedEventAttributes!.input)).toEqual({
      input: 'planted-input',
    });
    const { message, stackTrace, cause } = failed!.workflowExecutionFailedEventAttributes!.failure!;
    expect(message).toBe('planted-message');
    expect(stackTrace).not.toBe('');
    expect(cause!.message).toBe('planted-cause');
    expect(asText(history)).toContain('planted-detail');
  });

  it('is distinguished from one without encryption, which stays unchanged', async () => {
    const history = History.create({
      events: [{ workflowExecutionSignaledEventAttributes: { input: { payloads: [payloadOf('plain')] } } }],
    });
    await decodeEvents(cipher, history.events);
    expect(decode(history.events[0]!.workflowExecutionSignaledEventAttributes!.input)).toBe('plain');
  });

  it('without a key is an error that names the key', async () => {
    const payloads = await cipher.encode([payloadOf(1)]);
    expect(() => decode({ payloads })).toThrow('encrypted with the key "only"');
  });
});

describe('the failures of a workflow', () => {
  it('keep their message at both of its places', () => {
    const error = ApplicationFailure.create({ message: 'planted' });
    const once = failures.errorToFailure(error, defaultPayloadConverter);
    const read = failures.failureToError(once, defaultPayloadConverter);
    for (const _ of [1, 2]) {
      const again = failures.errorToFailure(read, defaultPayloadConverter);
      expect(again.message).toBe('Encoded failure');
      expect(failures.failureToError(again, defaultPayloadConverter).message).toBe('planted');
    }
  });

  it('stay readable for a query that comes too early, because clients match the text', () => {
    // The query is rejected before workflow code handles it, so the worker converts the error.
    const { failureConverterPath = '' } = workerCodec(cipher);
    const { failureConverter } = createRequire(import.meta.url)(failureConverterPath) as {
      readonly failureConverter: FailureConverter;
    };
    const messageOf = (text: string) =>
      failureConverter.errorToFailure(ApplicationFailure.nonRetryable(text), defaultPayloadConverter).message;
    expect([QUERY_TOO_EARLY, 'planted'].map(messageOf)).toEqual([QUERY_TOO_EARLY, 'Encoded failure']);
  });

  it('are written as the SDK writes them without encryption', async () => {
    vi.unstubAllGlobals();
    vi.resetModules();
    const { failureConverter } = await import('../../../src/workflows/failureConverter.ts');
    const error = new Error('readable');
    expect(failureConverter.errorToFailure(error, defaultPayloadConverter)).toEqual(
      defaultFailureConverter.errorToFailure(error, defaultPayloadConverter),
    );
  });
});
