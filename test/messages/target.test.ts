import { describe, expect, it } from 'vitest';
import { readSender } from '../../src/messages/fields.ts';
import { readRollbackMessage, readUndelivered } from '../../src/messages/target.ts';

const GARBAGE: readonly unknown[] = [0, 7, true, '', 'rollback', [], [{}], () => undefined, Symbol('x'), 1n];

describe('a rollback message', () => {
  it('may be empty: it is a rollback without a name', () => {
    for (const nothing of [undefined, null, {}]) {
      expect(readRollbackMessage(nothing, 'signal', 'fallback')).toEqual({
        requestId: 'fallback',
        requestedBy: { who: 'unknown', from: 'signal' },
      });
    }
  });

  it('may have every field', () => {
    const message = { requestId: 'id', to: 'revision', who: 'ada', from: 'cli', reason: 'errors' };
    expect(readRollbackMessage(message, 'signal', 'fallback')).toEqual({
      requestId: 'id',
      to: 'revision',
      requestedBy: { who: 'ada', from: 'cli', reason: 'errors' },
    });
  });

  it('is read without blanks, empty fields and unknown fields', () => {
    const message = { to: '  revision \n', reason: '   ', requestId: '', who: null, nested: { to: 'x' } };
    expect(readRollbackMessage(message, 'signal', 'fallback')).toEqual({
      requestId: 'fallback',
      to: 'revision',
      requestedBy: { who: 'unknown', from: 'signal' },
    });
  });

  it.each(GARBAGE.map((garbage) => [typeof garbage, garbage]))('that is a %s is rejected', (_, garbage) => {
    expect(readRollbackMessage(garbage, 'signal', 'x')).toBe('the message is not an object');
    expect(readSender(garbage, 'signal')).toBe('the message is not an object');
  });

  it.each(['requestId', 'to', 'who', 'from', 'reason'])('whose "%s" is not text is rejected', (name) => {
    for (const value of [7, false, [], {}, ['x']]) {
      expect(readRollbackMessage({ [name]: value }, 'signal', 'x')).toBe(`"${name}" is not text`);
    }
  });

  it.each(['requestId', 'to', 'who', 'from'])('whose "%s" is too long is rejected', (name) => {
    expect(readRollbackMessage({ [name]: 'x'.repeat(1_000) }, 'signal', 'x')).toBeTypeOf('object');
    expect(readRollbackMessage({ [name]: 'x'.repeat(1_001) }, 'signal', 'x')).toContain('longer than 1000');
  });

  it('is taken with a long reason in lines, of which it keeps the beginning as one line', () => {
    const reason = `an incident\n  \u202eat once: ${'x'.repeat(5_000)}`;
    expect(readRollbackMessage({ reason }, 'signal', 'x')).toMatchObject({
      requestedBy: { reason: expect.stringMatching(/^an incident at once: x{970,980}…$/u) as string },
    });
  });
});

describe('a hold message', () => {
  it('has the person, the source and the reason', () => {
    expect(readSender({ who: 'ada', reason: 'freeze' }, 'update')).toEqual({
      who: 'ada',
      from: 'update',
      reason: 'freeze',
    });
  });
});

/** The warning about a notice that a receiver did not accept. */
const WARNING = {
  at: '2026-01-05T10:00:00.000Z',
  receiver: 'ops',
  event: 'released',
  name: 'release-3',
  reason: 'it is away',
};

it.each([undefined, null, 7, 'text', [], {}, { ...WARNING, at: 7 }, { ...WARNING, reason: null }])(
  'a signal that is no warning is rejected: %j',
  (raw) => {
    expect(readUndelivered(raw)).toEqual(expect.any(String));
  },
);

it('a warning by signal is accepted, with truncated texts', () => {
  const read = readUndelivered({ ...WARNING, name: undefined, reason: 'x'.repeat(5_000), more: 1 });
  expect(read).toEqual({ ...WARNING, name: null, reason: 'x'.repeat(1_000) });
});
