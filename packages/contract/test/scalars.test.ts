import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { ResourceSpec } from '../src/controlPlane/resourceSpec.ts';
import { INTEGER_MAX, LIST_MAX } from '../src/limits.ts';
import { RUN_API_ENDPOINTS } from '../src/runApi/endpoints.ts';
import { ThreadCreate } from '../src/runApi/thread.ts';
import {
  DnsLabel,
  entryByEntry,
  EnvironmentName,
  HttpUrl,
  Identifier,
  integer,
  singleLineText,
  QueryBoolean,
  queryInteger,
  RelativePath,
  StorableObject,
  text,
  Timestamp,
  Uuid,
} from '../src/scalars.ts';

const many = (entry: unknown): unknown[] => Array(LIST_MAX).fill(entry);

const nested = (levels: number): object => {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { inner: value };
  return value;
};

describe.each([
  [
    'A uuid',
    Uuid,
    ['00000000-0000-0000-0000-000000000000', '7C9E6679-7425-40DE-944B-E07FC1F90AE7'],
    ['', 'x', '7c9e6679742540de944be07fc1f90ae7', '../7c9e6679-7425-40de-944b-e07fc1f90ae7', null],
  ],
  [
    'A timestamp',
    Timestamp,
    ['2026-11-21T10:00:00.123456+00:00', '2026-11-21 10:00', '2026-11-21 10:00:00+00', '2028-02-29'],
    // The last ones are moments for `Date.parse`, and for people another one.
    ['', 'yesterday', 7, null, '2026-11-21T25:00Z', '01/02/2027', 'no 2027', '2027-02-30'],
  ],
  ['A text', text(3), ['', 'abc', 'äöü', '🚀'], ['abcd', 'a\0', '\uD800', 1]],
  [
    'A line',
    singleLineText(8),
    ['a', 'Ünïcode', '名前', 'a b', '👩‍🚀'],
    ['', ' a', 'a ', 'a\nb', 'a\tb', 'a\u007Fb', 'a\u2028b', '\u00A0', '123456789'],
  ],
  [
    'A DNS label',
    DnsLabel,
    ['a', '0', 'a-b', 'a'.repeat(63)],
    ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'ä', 'a'.repeat(64), 'a\n'],
  ],
  ['An identifier', Identifier, ['A', '_', 'a_1'], ['', '1a', 'a-b', 'a.b', 'ä', 'a b', 'a\n']],
  [
    'The name of an environment variable',
    EnvironmentName,
    ['A', 'a.b-c', '1', 'A'.repeat(253)],
    ['', 'A=B', 'A B', 'Ä', 'A\0', 'A\n', 'A'.repeat(254)],
  ],
  ['An integer', integer(), [0, INTEGER_MAX], [-1, 1.5, INTEGER_MAX + 1, '1', Number.NaN, Infinity]],
  [
    'A relative path',
    RelativePath,
    ['graph.json', './a/graph.json', 'a..b/graph.json', '...', 'ä/graph.json'],
    ['', '/graph.json', '..', '../a', 'a/../b', 'a/..', 'a\\b', 'C:/a', 'a\n/../b', 'a\0'],
  ],
  [
    'An http URL',
    HttpUrl,
    ['http://a', 'https://a.example:8080/b?c=d'],
    [
      '',
      'a.example',
      'ftp://a',
      'javascript:alert(1)',
      'http://',
      `https://a/${'x'.repeat(5000)}`,
      'http://a/\0',
    ],
  ],
  [
    'A free-form object',
    StorableObject,
    [{}, { a: { b: [1, 'ü', null, true] } }, nested(100)],
    [[], null, 'x', { a: ['\0'] }, { 'a\0': 1 }, { a: '\uD800' }, nested(101)],
  ],
  [
    'An integer of a query',
    queryInteger(1, 100),
    ['1', '100', 7, '+5', '007'],
    ['', '0', '101', '1.5', '1e1', 'x', '0x10', ' 1', ['1', '2'], '99999999999999999999'],
  ],
])('%s', (_name, schema, right, wrong) => {
  it.each((right as unknown[]).map((value) => [value]))('accepts %j', (value) => {
    expect(schema.safeParse(value).success).toBe(true);
  });

  it.each((wrong as unknown[]).map((value) => [JSON.stringify(value).slice(0, 60), value]))(
    'rejects %s',
    (_text, value) => {
      expect(schema.safeParse(value).success).toBe(false);
    },
  );
});

describe('A free-form object nested deeper than the stack allows', () => {
  it('is rejected without recursion into it', () => {
    expect(StorableObject.safeParse(nested(200_000)).success).toBe(false);
  });
});

describe('A uuid in upper case', () => {
  it('is read in lower case, so that it compares', () => {
    expect(Uuid.parse('7C9E6679-7425-40DE-944B-E07FC1F90AE7')).toBe('7c9e6679-7425-40de-944b-e07fc1f90ae7');
  });
});

describe('A boolean of a query', () => {
  it.each(['1', 'true', 'True', 'TRUE', 't', 'yes', 'y', 'on', true])('is true as %s', (value) => {
    expect(QueryBoolean.parse(value)).toBe(true);
  });

  it.each(['0', 'false', 'False', 'f', 'no', 'n', 'off', '', false])('is false as "%s"', (value) => {
    expect(QueryBoolean.parse(value)).toBe(false);
  });

  it.each(['2', 'maybe', 'null', 1, null])('is rejected as %s', (value) => {
    expect(QueryBoolean.safeParse(value).success).toBe(false);
  });
});

it('a timestamp without an offset is UTC, wherever it is read', () => {
  const sent = ['2026-11-21T10:00', '2026-11-21 10:00:00.5', '2026-11-21', '2026-11-21T10:00-01:00'];
  expect(sent.map((text) => Timestamp.parse(text))).toEqual([
    '2026-11-21T10:00Z',
    '2026-11-21 10:00:00.5Z',
    '2026-11-21',
    '2026-11-21T10:00-01:00',
  ]);
});

describe('A list of lists', () => {
  const list = entryByEntry(z.array(z.object({ numbers: z.array(z.number()) })).max(LIST_MAX));

  it('is parsed, and its mistakes are at their places', () => {
    expect(list.parse([{ numbers: [1], more: 2 }])).toEqual([{ numbers: [1] }]);
    expect(list.safeParse('[]').error?.issues).toMatchObject([{ code: 'invalid_type', path: [] }]);
    const mistakes = list.safeParse([{ numbers: [] }, { numbers: [1, '2'] }, {}]).error?.issues;
    expect(mistakes).toMatchObject([
      { code: 'invalid_type', expected: 'number', path: [1, 'numbers', 1] },
      { code: 'invalid_type', expected: 'array', path: [2, 'numbers'] },
    ]);
    const tooLong = list.safeParse(Array(LIST_MAX + 1).fill({ numbers: ['1'] })).error?.issues;
    expect(tooLong).toMatchObject([{ code: 'too_big', path: [] }]);
  });

  it('is not searched for more mistakes than an answer shows', () => {
    const entry = { numbers: Array(60).fill('1') };
    expect(list.safeParse(Array(LIST_MAX).fill(entry)).error?.issues).toHaveLength(120);
  });
});

it.each([
  ['runs', RUN_API_ENDPOINTS.createRuns.request, { assistant_id: 'a', config: { tags: many(0) } }],
  ['supersteps', z.preprocess((supersteps) => ({ supersteps }), ThreadCreate), { updates: many(0) }],
  [
    'init_containers',
    z.preprocess((init_containers) => ({ init_containers }), ResourceSpec),
    { args: many(0) },
  ],
  ['sidecars', z.preprocess((sidecars) => ({ sidecars }), ResourceSpec), { args: many(0) }],
])('A wrong list of %s is not searched for all of its mistakes', (_, schema, entry) => {
  expect(schema.safeParse(many(entry)).error?.issues.length).toBeLessThan(2 * LIST_MAX);
});
