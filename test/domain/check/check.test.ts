import { describe, expect, it } from 'vitest';

import { answerText, type Expectation, judge, type ObservedRun } from '../../../src/domain/check/check.ts';

const CHAT = { messages: [{ content: 'hi' }, { content: 'hello, Ada' }] };

function run(changes: Partial<ObservedRun> = {}): ObservedRun {
  return { status: 'success', values: CHAT, latencyMs: 120, ...changes };
}

/** A run whose final values have `x`. */
const x = (value: unknown): Partial<ObservedRun> => ({ values: { x: value } });

describe('a judgement', () => {
  it.each<[string, Expectation, Partial<ObservedRun>]>([
    ['nothing is expected but success', {}, {}],
    ['the text is there', { contains: 'Ada' }, {}],
    ['the pattern matches', { matches: '^hello, \\p{Lu}' }, {}],
    ['the value at a path is the same', { path: 'x', equals: 3 }, x(3)],
    [
      'keys differ in order',
      { path: 'x', equals: { a: [1, { b: null }], c: 'x' } },
      x({ c: 'x', a: [1, { b: null }] }),
    ],
    ['a path goes into a list', { path: 'messages.0.content', equals: 'hi' }, {}],
    ['a path counts a list from its end', { path: 'messages.-1.content', contains: 'Ada' }, {}],
    ['an expected error came', { status: 'error' }, { status: 'error', error: 'no tool' }],
    ['an expected interrupt came', { status: 'interrupted' }, { status: 'interrupted' }],
    ['it was as quick as allowed', { maxLatencyMs: 120 }, {}],
    ['null is expected and there', { path: 'x', equals: null }, x(null)],
  ])('passes where %s', (_, expectation, changes) => {
    expect(judge(expectation, run(changes))).toMatchObject({ passed: true, reasons: [] });
  });

  it.each<[string, Expectation, Partial<ObservedRun>, string]>([
    ['the run failed', {}, { status: 'error', error: 'boom' }, 'ended "error" instead of "success": boom'],
    ['the run timed out', {}, { status: 'timeout' }, 'ended "timeout"'],
    ['an error was expected and none came', { status: 'error' }, {}, 'ended "success" instead of "error"'],
    ['the text is not there', { contains: 'Bo' }, {}, 'the answer does not contain "Bo": "hello, Ada"'],
    ['the pattern does not match', { matches: '^Ada' }, {}, 'does not match /^Ada/'],
    ['the pattern is none', { matches: '(' }, {}, '"(" is not a regular expression'],
    ['the value differs', { path: 'x', equals: 3 }, x(4), '"x" is "4" instead of "3"'],
    ['the value is of another kind', { path: 'x', equals: '3' }, x(3), '"x" is "3" instead of "3"'],
    ['the list is longer', { path: 'x', equals: [1] }, x([1, 2]), 'instead of'],
    ['a list is no object', { path: 'x', equals: { 0: 1 } }, x([1]), 'instead of'],
    ['a key is missing', { path: 'x', equals: { a: 1, b: 2 } }, x({ a: 1, c: 2 }), 'instead of'],
    ['nothing stands at the path', { path: 'a.b.c', equals: 1 }, { values: { a: 1 } }, '"a.b.c" is ""'],
    [
      'null is expected and nothing is there',
      { path: 'x', equals: null },
      { values: {} },
      'instead of "null"',
    ],
    [
      'a path names a field of a list',
      { path: 'messages.content', equals: 'hi' },
      {},
      '"messages.content" is ""',
    ],
    ['it was too slow', { maxLatencyMs: 100 }, {}, 'took 120 ms, at most 100 ms'],
  ])('fails where %s, and says so', (_, expectation, changes, reason) => {
    const { passed, reasons } = judge(expectation, run(changes));
    expect(passed).toBe(false);
    expect(reasons.join('\n')).toContain(reason);
  });

  it('gives one reason for each part that does not hold', () => {
    const expectation = { contains: 'x', matches: 'y', equals: 'z', maxLatencyMs: 1 };
    expect(judge(expectation, run({ status: 'error' })).reasons).toHaveLength(5);
  });

  it('does not take an inherited property for a value', () => {
    expect(judge({ path: 'constructor', contains: 'Object' }, run({ values: {} })).passed).toBe(false);
  });

  it('shortens a long answer and the error that a run reports', () => {
    const long = 'x'.repeat(5_000);
    const { answer, reasons } = judge({ contains: 'y' }, run({ values: long, status: 'error', error: long }));
    expect(answer.length).toBeLessThan(500);
    for (const reason of reasons) expect(reason.length).toBeLessThan(500);
  });
});

describe('the answer', () => {
  it.each<[string, unknown, string]>([
    ['the last message', CHAT, 'hello, Ada'],
    [
      'the texts of a message',
      { messages: [{ content: [{ text: 'a' }, { image: 'b' }, { text: 'c' }] }] },
      'ac',
    ],
    ['a message that is text', { messages: ['a', 'b'] }, 'b'],
    ['nothing, where there is no message', { messages: [] }, ''],
    ['the values as JSON, where there are no messages', { sum: 3 }, '{"sum":3}'],
    ['a text as it is', 'plain', 'plain'],
    ['nothing, where nothing came', undefined, ''],
  ])('is %s', (_, values, text) => {
    expect(answerText(values)).toBe(text);
  });
});
