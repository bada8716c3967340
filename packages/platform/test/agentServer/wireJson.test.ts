import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';

import { toWireJson, UnserializableValue } from '../../src/agentServer/runs/wireJson.ts';

const strictly = (value: unknown) =>
  JSON.parse(toWireJson(value, { strict: true, root: 'values' })) as unknown;
const loosely = (value: unknown) =>
  JSON.parse(toWireJson(value, { strict: false, root: 'values' })) as unknown;

describe('wire JSON', () => {
  it('writes messages as plain objects with their type', () => {
    expect(
      strictly({ messages: [new HumanMessage('hi'), new AIMessage({ content: 'ho', id: '1' })] }),
    ).toMatchObject({
      messages: [
        { type: 'human', content: 'hi' },
        { type: 'ai', content: 'ho', id: '1' },
      ],
    });
  });

  it('writes dates, maps, sets, errors and undefined values', () => {
    const value = {
      at: new Date(0),
      map: new Map([['a', 1]]),
      set: new Set([1]),
      error: new RangeError('x'),
    };
    expect(strictly(value)).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      map: { a: 1 },
      set: [1],
      error: { error: 'RangeError', message: 'x' },
    });
    expect(strictly(undefined)).toBeNull();
    expect(strictly([undefined, { a: undefined }])).toEqual([null, {}]);
  });

  it('writes an object twice if it is at two places', () => {
    const shared = { a: 1 };
    expect(strictly({ left: shared, right: [shared] })).toEqual({ left: { a: 1 }, right: [{ a: 1 }] });
  });

  it.each<[string, unknown]>([
    ['values.a[1] is a function', { a: [0, () => 1] }],
    ['values.a is a symbol', { a: Symbol('x') }],
    ['values.a is a big integer', { a: 1n }],
    ['values.a is a reference', cyclic()],
  ])('rejects values that JSON cannot express: %s', (message, value) => {
    expect(() => strictly(value)).toThrow(UnserializableValue);
    expect(() => strictly(value)).toThrow(message);
  });

  it('omits such values from traces', () => {
    expect(loosely({ f: () => 1, big: 1n, in: cyclic() })).toEqual({ big: '1', in: { a: '[Circular]' } });
  });
});

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value['a'] = value;
  return value;
}
