import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import {
  type ArgsMode,
  type ExpectedTools,
  type ToolMode,
  trajectoryOf,
  trajectoryProblem,
} from '../../../src/domain/check/trajectory.ts';

const search = (q: string) => ({ name: 'search', args: { q } });
const BOOK = { name: 'book', args: { seat: 3, class: 'second' } };
const CALLS = [search('Berlin'), search('Paris'), BOOK].map((call, message) => ({ ...call, message }));

describe('tool calls', () => {
  it.each<[string, ExpectedTools]>([
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
  ])('pass, %s', (_, expected) => {
    expect(trajectoryProblem(expected, CALLS)).toBeUndefined();
  });

  it.each<[string, ExpectedTools, string]>([
    ['strict: another order', { calls: CALLS.toReversed() }, 'instead of book('],
    ['strict: one more', { calls: CALLS.slice(1) }, 'search({"q":"Berlin"}), search('],
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

describe('a call whose arguments are no object', () => {
  const problem = (args: unknown, wanted: Readonly<Record<string, unknown>> | undefined) =>
    trajectoryProblem({ argsMode: 'subset', calls: [{ name: 'search', args: wanted }] }, [
      { name: 'search', args, message: 0 },
    ]);

  it.each([['{'], ['text'], [[]], [3]])('fits none that are expected: %j', (args) => {
    expect(problem(args, {})).toContain('search');
    expect(problem(args, undefined)).toBeUndefined();
  });

  it.each([[undefined], [null], ['']])('has none: %j', (args) => {
    expect(problem(args, {})).toBeUndefined();
  });
});

type Calls = readonly (readonly [name: string, args: Readonly<Record<string, unknown>>])[];

interface Trajectories {
  /** The version that gave the verdicts. */
  readonly agentevals: string;
  readonly cases: readonly (readonly [
    mode: ToolMode,
    argsMode: ArgsMode | 'ignore',
    made: readonly Calls[],
    expected: readonly Calls[],
    verdict: boolean,
    differs: readonly (keyof typeof DIFFERENCES)[],
  ])[];
}

/** Why Slipway differs from agentevals, as docs/checks.md says it. */
const DIFFERENCES = {
  messages: 'The expected calls are one list',
  direction: '`argsMode` has one direction',
  pairs: 'Each call is paired with one that no other needs',
  booleans: '`true` is not `1`',
};

describe('the modes of agentevals', () => {
  const file = new URL('fixtures/trajectories.json', import.meta.url);
  const { agentevals, cases } = JSON.parse(readFileSync(file, 'utf8')) as Trajectories;

  it('give the same verdicts here, except where the docs say why not', () => {
    const wrong = cases.filter(([mode, argsMode, made, expected, verdict, differs]) => {
      const ignored = argsMode === 'ignore';
      const calls = expected.flat().map(([name, args]) => (ignored ? { name } : { name, args }));
      const expectation: ExpectedTools = ignored ? { mode, calls } : { mode, argsMode, calls };
      const found = trajectoryOf({ messages: conversation(made) })?.calls ?? [];
      const ours = trajectoryProblem(expectation, found) === undefined;
      return ours !== (differs.length === 0 ? verdict : !verdict);
    });
    expect(wrong).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(500);
  });

  it('differ for reasons that the docs explain, each of which has a case', () => {
    const page = readFileSync(new URL('../../../docs/checks.md', import.meta.url), 'utf8');
    const seen = new Set(cases.flatMap(([, , , , , differs]) => differs));
    expect([...seen].toSorted()).toEqual(Object.keys(DIFFERENCES).toSorted());
    for (const words of [`agentevals\` ${agentevals}`, ...Object.values(DIFFERENCES)])
      expect(page.includes(words), words).toBe(true);
  });
});

/** What an agent said that made these calls, one list for each message. */
function conversation(messages: readonly Calls[]): readonly object[] {
  const said = messages.flatMap((calls) => {
    const made = calls.map(([name, args]) => ({ function: { name, arguments: JSON.stringify(args) } }));
    return [
      { role: 'assistant', content: '', tool_calls: made },
      ...calls.map(() => ({ role: 'tool', content: 'done' })),
    ];
  });
  return [{ role: 'user', content: '?' }, ...said, { role: 'assistant', content: '!' }];
}

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
    expect(trajectoryOf(values)).toEqual({
      calls: [{ name: 'new', args: { a: 1 }, message: 0 }],
      tokens: 10,
    });
  });

  it('reads the calls of OpenAI’s messages', () => {
    const call = { type: 'function', function: { name: 'search', arguments: '{"q":"Berlin"}' } };
    const broken = { function: { name: 'search', arguments: '{' } };
    const values = { messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [call, broken] }] };
    expect(trajectoryOf(values)).toEqual({
      calls: [
        { ...search('Berlin'), message: 0 },
        { name: 'search', args: '{', message: 0 },
      ],
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
