import { createSecretKey, randomBytes } from 'node:crypto';

import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, it } from 'vitest';

import { NO_KEYS, PayloadCipher } from '../../../src/temporal/codec/payloadCipher.ts';

const keyOf = (id: string) => ({ id, key: createSecretKey(randomBytes(32)) });
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const textOf = ({ data }: Payload): string => Buffer.from(data ?? []).toString('latin1');

describe('payloads', () => {
  const old = keyOf('2026-05');
  const fresh = keyOf('2026-11');

  it('are encrypted with the first key, and carry its id', async () => {
    const [payload] = await new PayloadCipher([fresh, old]).encode([payloadOf('planted')]);
    expect(textOf(payload!)).not.toContain('planted');
    expect(Buffer.from(payload!.metadata!['encoding']!).toString()).toBe('binary/encrypted');
    expect(Buffer.from(payload!.metadata!['encryption-key-id']!).toString()).toBe('2026-11');
  });

  it('are decrypted with the key that they name, and read as they are if they name none', async () => {
    const [before] = await new PayloadCipher([old]).encode([payloadOf({ written: 'before' })]);
    const [after] = await new PayloadCipher([fresh, old]).encode([payloadOf({ written: 'after' })]);
    const decoded = await new PayloadCipher([fresh, old]).decode([before!, after!, payloadOf('plain')]);
    expect(decoded.map((payload) => defaultPayloadConverter.fromPayload(payload))).toEqual([
      { written: 'before' },
      { written: 'after' },
      'plain',
    ]);
  });

  it('of the same value never have the same bytes', async () => {
    const [one, other] = await new PayloadCipher([old]).encode([payloadOf('same'), payloadOf('same')]);
    expect(textOf(one!)).not.toBe(textOf(other!));
  });

  it('stay unchanged without keys, and if there is nothing to encrypt', async () => {
    const payload = payloadOf('plain');
    expect(await NO_KEYS.encode([payload])).toEqual([payload]);
    const nothing = payloadOf(undefined);
    expect(await new PayloadCipher([old]).encode([nothing])).toEqual([nothing]);
  });

  it.each([
    ['no key', [], 'this process has no payload keys'],
    ['other keys', [old], 'this process has "2026-05"'],
  ])('are rejected with %s, naming what to set', async (_, keys, has) => {
    const encrypted = await new PayloadCipher([fresh]).encode([payloadOf(1)]);
    await expect(new PayloadCipher(keys).decode(encrypted)).rejects.toMatchObject({
      code: 'SLIPWAY_PAYLOAD_KEY_MISSING',
      message: `a payload in Temporal is encrypted with the key "2026-11", and ${has}`,
      hint: expect.stringContaining('SLIPWAY_PAYLOAD_KEYS="2026-11=') as string,
    });
  });

  it('are rejected if another key has the id, or if they were changed or truncated', async () => {
    const [payload] = await new PayloadCipher([old]).encode([payloadOf('planted')]);
    const changed = Buffer.from(payload!.data!);
    changed[20]! ^= 1;
    for (const [keys, data] of [
      [[keyOf('2026-05')], payload!.data!],
      [[old], changed],
      [[old], Buffer.from('short')],
    ] as const) {
      await expect(new PayloadCipher(keys).decode([{ ...payload, data }])).rejects.toMatchObject({
        code: 'SLIPWAY_PAYLOAD_UNREADABLE',
      });
    }
  });
});
