import { describe, expect, it } from 'vitest';

import { type ExpectedTools, trajectoryOf, trajectoryProblem } from '../../../src/domain/check/trajectory.ts';

const search = (q: string) => ({ name: 'search', args: { q } });
const BOOK = { name: 'book', args: { seat: 3, class: 'second' } };
const CALLS = [search('Berlin'), search('Paris'), BOOK];

describe('tool calls', () => {
  it.each<[string, ExpectedTools]>([
    ['strict: the same ones in the same order', { calls: CALLS }],
    ['strict: a call without arguments fits any', { calls: [search('Berlin'), { name: 'search' }, BOOK] }],
    ['unordered: the same ones in another order', { mode: 'unordered', calls: CALLS.toReversed() }],
    [
      'unordered: a call that fits several leaves the one that another needs',
      { mode: 'unordered', calls: [{ name: 'search' }, search('Berlin'), BOOK] },
    ],
    ['superset: among others', { mode: 'superset', calls: [BOOK] }],
    ['subset: none but these', { mode: 'subset', calls: [...CALLS, { name: 'pay' }] }],
    [
      'arguments: some of those that were given',
      { mode: 'superset', argsMode: 'superset', calls: [{ name: 'book', args: { seat: 3 } }] },
    ],
    [
      'arguments: none but these',
      {
        mode: 'superset',
        argsMode: 'subset',
        calls: [{ name: 'book', args: { ...BOOK.args, meal: 'yes' } }],
      },
    ],
    [
      'arguments whose fields stand in another order',
      { mode: 'superset', calls: [{ name: 'book', args: { class: 'second', seat: 3 } }] },
    ],
  ])('pass, %s', (_, expected) => {
    expect(trajectoryProblem(expected, CALLS)).toBeUndefined();
  });

  it.each<[string, ExpectedTools, string]>([
    ['strict: another order', { calls: CALLS.toReversed() }, 'instead of book('],
    ['strict: one more', { calls: CALLS.slice(1) }, 'search({"q":"Berlin"}), search('],
    ['strict: none is expected', { calls: [] }, 'instead of no tool call'],
    [
      'unordered: one is missing',
      { mode: 'unordered', calls: [...CALLS, { name: 'pay' }] },
      'pay is missing',
    ],
    ['unordered: one is too many', { mode: 'unordered', calls: [BOOK] }, 'was not expected'],
    [
      'superset: one call does not stand for two',
      { mode: 'superset', calls: [BOOK, { name: 'book' }] },
      'book is missing',
    ],
    ['subset: one is not expected', { mode: 'subset', calls: [{ name: 'search' }] }, 'was not expected'],
    [
      'an argument differs',
      { mode: 'superset', calls: [{ name: 'book', args: { seat: 4, class: 'second' } }] },
      'book({"seat":4,"class":"second"}) is missing',
    ],
    [
      'an argument is missing',
      { mode: 'superset', argsMode: 'superset', calls: [{ name: 'book', args: { meal: 'yes' } }] },
      'is missing',
    ],
    [
      'one argument is too many',
      { mode: 'superset', argsMode: 'subset', calls: [{ name: 'book', args: { seat: 3 } }] },
      'is missing',
    ],
    [
      'an argument that every object has is not there',
      { mode: 'superset', argsMode: 'superset', calls: [{ name: 'book', args: { constructor: 'x' } }] },
      'is missing',
    ],
  ])('do not pass, %s', (_, expected, words) => {
    expect(trajectoryProblem(expected, CALLS)).toContain(words);
  });
});

describe('a trajectory', () => {
  it('is what came after the last message of a person', () => {
    const values = {
      messages: [
        { type: 'human', content: 'one' },
        { type: 'ai', tool_calls: [{ name: 'old', args: {} }], usage_metadata: { total_tokens: 100 } },
        { type: 'human', content: 'two' },
        { type: 'ai', tool_calls: [{ name: 'new', args: { a: 1 } }], usage_metadata: { total_tokens: 7 } },
        { type: 'tool', content: 'done' },
        { type: 'ai', content: 'two', usage_metadata: { input_tokens: 2, output_tokens: 1 } },
      ],
    };
    expect(trajectoryOf(values)).toEqual({ calls: [{ name: 'new', args: { a: 1 } }], tokens: 10 });
  });

  it('reads the calls of OpenAI’s messages', () => {
    const call = { type: 'function', function: { name: 'search', arguments: '{"q":"Berlin"}' } };
    const broken = { function: { name: 'search', arguments: '{' } };
    const values = { messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [call, broken] }] };
    expect(trajectoryOf(values)).toEqual({
      calls: [search('Berlin'), { name: 'search', args: undefined }],
      tokens: null,
    });
  });

  it.each([[null], ['text'], [{}], [{ messages: 'none' }]])('is unknown of %j', (values) => {
    expect(trajectoryOf(values)).toBeNull();
  });

  it('of odd messages is empty', () => {
    const values = {
      messages: [null, 1, [], { tool_calls: 'x' }, { tool_calls: [null] }, { usage_metadata: 3 }],
    };
    expect(trajectoryOf(values)).toEqual({ calls: [], tokens: null });
  });
});
