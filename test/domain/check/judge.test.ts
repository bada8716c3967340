import { describe, expect, it } from 'vitest';

import { ANSWER_CHECKS } from '../../../src/config/answerSchema.ts';
import { answerText } from '../../../src/domain/check/answer.ts';
import type { ObservedRun } from '../../../src/domain/check/check.ts';
import type { Expectation } from '../../../src/domain/check/expectation.ts';
import { judge as judgeWith } from '../../../src/domain/check/judge.ts';

const judge = (expectation: Expectation, seen: ObservedRun) => judgeWith(expectation, seen, ANSWER_CHECKS);

const CHAT = { messages: [{ content: 'hi' }, { content: 'hello, Ada' }] };

function run(changes: Partial<ObservedRun> = {}): ObservedRun {
  return { status: 'success', values: CHAT, latencyMs: 120, ...changes };
}

/** A run whose final values have `x`. */
const x = (value: unknown): Partial<ObservedRun> => ({ values: { x: value } });

/** Of a text that almost matches, it tries 2^40 ways. */
const ENDLESS = '^(a+)+$';

describe('a judgement', () => {
  it.each<[string, Expectation, Partial<ObservedRun>]>([
    ['nothing is expected but success', {}, {}],
    ['the text is there', { contains: 'Ada' }, {}],
    ['the pattern matches', { matches: '^hello, \\p{Lu}' }, {}],
    [
      'keys differ in order',
      { path: 'x', equals: { a: [1, { b: null }], c: 'x' } },
      x({ c: 'x', a: [1, { b: null }] }),
    ],
    ['a path goes into a list', { path: 'messages.0.content', equals: 'hi' }, {}],
    ['a path counts a list from its end', { path: 'messages.-1.content', contains: 'Ada' }, {}],
    ['an expected interrupt came', { status: 'interrupted' }, { status: 'interrupted' }],
    ['it was as quick as allowed', { maxLatencyMs: 120 }, {}],
    ['null is expected and there', { path: 'x', equals: null }, x(null)],
  ])('passes where %s', (_, expectation, changes) => {
    expect(judge(expectation, run(changes))).toMatchObject({ passed: true, reasons: [] });
  });

  it.each<[string, Expectation, Partial<ObservedRun>, string]>([
    ['the run failed', {}, { status: 'error', error: 'boom' }, 'ended "error" instead of "success": boom'],
    ['an error was expected and none came', { status: 'error' }, {}, 'ended "success" instead of "error"'],
    ['the text is not there', { contains: 'Bo' }, {}, 'the answer does not contain "Bo": "hello, Ada"'],
    ['the pattern does not match', { matches: '^Ada' }, {}, 'does not match /^Ada/'],
    ['the pattern is none', { matches: '(' }, {}, '"(" is not a regular expression'],
    ['the value differs', { path: 'x', equals: 3 }, x(4), '"x" is "4" instead of "3"'],
    ['the value is of another kind', { path: 'x', equals: '3' }, x(3), '"x" is "3" instead of "3"'],
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
    ['it was slightly too slow', { maxLatencyMs: 100 }, { latencyMs: 100.2 }, 'took 101 ms, at most 100 ms'],
  ])('fails where %s, and says so', (_, expectation, changes, reason) => {
    const { passed, reasons } = judge(expectation, run(changes));
    expect(passed).toBe(false);
    expect(reasons.join('\n')).toContain(reason);
  });

  it('gives one reason for each part that does not hold', () => {
    const expectation = { contains: 'x', matches: 'y', equals: 'z', maxLatencyMs: 1 };
    expect(judge(expectation, run({ status: 'error' })).reasons).toHaveLength(5);
  });

  it.each<[string, Expectation]>([
    ['a pattern', { matches: ENDLESS }],
    ['a JSON Schema', { path: 'x', jsonSchema: { type: 'string', pattern: ENDLESS } }],
    ['the opposite of a pattern', { not: { matches: ENDLESS } }],
    ['the opposite of a JSON Schema', { path: 'x', not: { jsonSchema: { pattern: ENDLESS } } }],
  ])('fails where %s would take for ever', (_, expectation) => {
    const text = `${'a'.repeat(40)}!`;
    const { reasons } = judge(expectation, run({ values: { x: text, messages: [{ content: text }] } }));
    expect(reasons).toEqual([expect.stringContaining('takes longer than 1.0s')]);
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
    ['the texts of a message, some without a type', { messages: [{ content: ['a', { text: 'b' }] }] }, 'ab'],
    ['nothing, where a message only calls tools', { messages: [{ content: null, tool_calls: [{}] }] }, ''],
    ['a message that is text', { messages: ['a', 'b'] }, 'b'],
    ['nothing, where there is no message', { messages: [] }, ''],
    ['the values as JSON, where there are no messages', { sum: 3 }, '{"sum":3}'],
    ['nothing, where nothing came', undefined, ''],
  ])('is %s', (_, values, text) => {
    expect(answerText(values)).toBe(text);
  });
});

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, when: { format: 'date' } },
  required: ['city'],
  additionalProperties: false,
};
const asked = (content: unknown, more: object = {}): Partial<ObservedRun> => ({
  values: { messages: [{ type: 'human' }, { type: 'ai', content, ...more }] },
});
const CALLED = asked('ok', {
  tool_calls: [{ name: 'search', args: {} }],
  usage_metadata: { total_tokens: 50 },
});

describe('beyond words, a judgement', () => {
  it.each<[string, Expectation, Partial<ObservedRun>]>([
    ['the answer is JSON of that schema', { jsonSchema: SCHEMA }, asked('{"city": "Berlin"}')],
    [
      'the value at the path fits',
      { path: 'x', jsonSchema: SCHEMA },
      x({ city: 'Berlin', when: '2026-01-31' }),
    ],
    ['values without messages fit', { jsonSchema: { required: ['x'] } }, x(1)],
    ['values without messages are equal', { equals: { y: 2, x: 1 } }, { values: { x: 1, y: 2 } }],
    ['the answer is equal as JSON', { equals: { a: 1, b: [2] } }, asked('{"b": [2], "a": 1}')],
    ['text at a path is text', { path: 'x', jsonSchema: { type: 'string' } }, x('{}')],
    [
      'the schema is one of draft 7',
      { path: 'x', jsonSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'number' } },
      x(1),
    ],
    ['the only number in the answer is right', { number: { equals: 1_234.5 } }, asked('It is 1,234.5 m.')],
    ['it has the minus sign of typography', { number: { equals: -3 } }, asked('It is \u22123 °C.')],
    ['it is within the tolerance', { number: { equals: 10, tolerance: 0.5 } }, asked('about 10.5')],
    ['it is just within a decimal tolerance', { number: { equals: 1.1, tolerance: 0.1 } }, asked('1.0')],
    ['it lies between both', { path: 'x', number: { min: 1, max: 2 } }, x(2)],
    ['the tools are right', { tools: { calls: [{ name: 'search' }] } }, CALLED],
    ['there are no more tool calls', { maxToolCalls: 1 }, CALLED],
    ['there are no more tokens', { maxTokens: 50 }, CALLED],
    ['only a part of the opposite holds', { not: { contains: 'here', matches: 'sorry' } }, asked('here')],
    [
      'a run that failed is no opposite of words',
      { status: 'error', not: { contains: 'x' } },
      { status: 'error' },
    ],
    ['a part has the path around it', { path: 'x', anyOf: [{ equals: 1 }, { equals: 2 }] }, x(2)],
    ['a part has a path of its own', { path: 'x', not: { path: 'y', equals: 1 } }, x(1)],
    [
      'the opposite is unknown only in a part',
      { not: { anyOf: [{ maxTokens: 1, contains: 'b' }] } },
      asked('a'),
    ],
    ['parts have parts', { not: { anyOf: [{ contains: 'a' }, { contains: 'b' }] } }, asked('c')],
  ])('passes where %s', (_, expectation, changes) => {
    expect(judge(expectation, run(changes)).reasons).toEqual([]);
  });

  it.each<[string, Expectation, Partial<ObservedRun>, string]>([
    ['the answer is no JSON', { jsonSchema: SCHEMA }, asked('Berlin'), 'the answer is not JSON: "Berlin"'],
    ['a field is missing', { jsonSchema: SCHEMA }, asked('{}'), "it must have required property 'city'"],
    [
      'fields are wrong',
      { path: 'x', jsonSchema: SCHEMA },
      x({ city: 1, town: 2, when: 'today' }),
      '"x" does not fit its JSON Schema: it must NOT have additional properties (town); /city must be string; /when must match format "date"',
    ],
    ['nothing is there', { path: 'y', jsonSchema: {} }, x(1), '"y" is missing'],
    [
      'the schema is none',
      { jsonSchema: { tipe: 'x' } },
      asked('1'),
      'jsonSchema is no JSON Schema: strict mode',
    ],
    ['the answer has no number', { number: { min: 0 } }, asked('many'), 'the answer has no number: "many"'],
    ['it has several', { number: { min: 0 } }, asked('1 or 2'), 'has 2 numbers, so none is compared'],
    ['its number has a unit', { number: { equals: 1 } }, asked('1.5kg'), 'has no number'],
    ['its number has another comma', { number: { equals: 12 } }, asked('12,34'), 'has no number'],
    ['it has a list', { number: { equals: 1 } }, asked('1,2,3'), 'has no number'],
    ['it has a version', { number: { equals: 10 } }, asked('10.0.0.1'), 'has no number'],
    ['a value is no number', { path: 'x', number: { min: 0 } }, x([1]), '"x" has no number'],
    [
      'it is too far away',
      { number: { equals: 10, tolerance: 1 } },
      asked('12'),
      'is 12: expected 10 within 1',
    ],
    [
      'it is far too large',
      { number: { equals: 1e9, tolerance: 1 } },
      asked('1e400'),
      'is Infinity: expected',
    ],
    ['it is too small', { number: { min: 3 } }, asked('-4'), 'is -4: expected at least 3'],
    ['it is too large', { number: { max: 3 } }, asked('4'), 'is 4: expected at most 3'],
    [
      'the tools differ',
      { tools: { calls: [] } },
      CALLED,
      'the tool calls differ: search({}) instead of no tool',
    ],
    ['there are too many calls', { maxToolCalls: 0 }, CALLED, 'made 1 tool calls, at most 0 are allowed'],
    ['there are too many tokens', { maxTokens: 49 }, CALLED, 'took 50 tokens, at most 49 are allowed'],
    [
      'no tokens are reported',
      { maxTokens: 49 },
      asked('x'),
      'no message reports its tokens (usage_metadata)',
    ],
    ['there are no messages', { maxToolCalls: 1 }, x(1), 'have no messages, so its tool calls and tokens'],
    [
      'the opposite holds',
      { not: { contains: 'a' } },
      asked('a'),
      'what "not" names holds: {"contains":"a"}',
    ],
    ['the opposite is unknown', { not: { maxTokens: 1 } }, asked('a'), 'so maxTokens is unknown'],
    [
      'the opposite of an unknown choice is unknown',
      { not: { anyOf: [{ maxTokens: 1 }, { contains: 'b' }] } },
      asked('a'),
      'none of "anyOf" holds',
    ],
    [
      'none of several holds',
      { anyOf: [{ contains: 'a' }, { contains: 'b', matches: 'd' }] },
      asked('c'),
      'none of "anyOf" holds: (1) the answer does not contain "a": "c"; (2) the answer does not contain "b"',
    ],
  ])('fails where %s', (_, expectation, changes, words) => {
    const { passed, reasons } = judge(expectation, run(changes));
    expect(passed).toBe(false);
    expect(reasons.join('; ')).toContain(words);
  });
});
