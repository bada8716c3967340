import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { chosenRows, type DatasetRow, datasetRows, rowCheck } from '../../src/check/datasetRows.ts';
import { ANSWER_CHECKS } from '../../src/config/answerSchema.ts';
import type { Check } from '../../src/domain/check/check.ts';
import { judge } from '../../src/domain/check/judge.ts';

/** A stream of a text, in pieces that end anywhere, also within a character. */
function bytesOf(text: string): Readable {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, n) =>
    bytes.subarray(n * PIECE, (n + 1) * PIECE),
  );
  return Readable.from(pieces);
}

const PIECE = 1_001;

async function rowsOf(lines: readonly (string | object)[], expectation: Check['expect'] = {}) {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  const rows: DatasetRow[] = [];
  for await (const row of datasetRows(bytesOf(text), 'trains.jsonl', { expect: expectation })) {
    rows.push(row);
  }
  return rows;
}

describe('the rows of a dataset', () => {
  it('have their line, their input, and what is right', async () => {
    const lines = [
      { id: 'a', input: { q: 1 }, reference: '10:30', metadata: { from: 'support' } },
      '',
      { id: 'b', input: { q: 2 }, expect: { contains: 'noon' } },
    ];
    expect(await rowsOf(lines)).toEqual([
      { id: 'a', line: 1, input: { q: 1 }, reference: '10:30' },
      { id: 'b', line: 3, input: { q: 2 }, expect: { contains: 'noon' } },
    ]);
  });

  it('without an id have one made of their input, which stays if they move', async () => {
    const [one, other] = [{ input: { q: 1, r: 2 } }, { input: { q: 2 } }];
    const ids = (await rowsOf([one, other])).map(({ id }) => id);
    const moved = (await rowsOf([{ input: { q: 0 } }, other, { input: { r: 2, q: 1 } }])).map(({ id }) => id);
    expect(moved.slice(1)).toEqual([ids[1], ids[0]]);
  });

  it('with the same input and no id are told apart by their order', async () => {
    const [one, other] = await rowsOf([{ input: {} }, { input: {} }]);
    expect(other?.id).toBe(`${one?.id ?? ''}-2`);
  });

  it.each([
    ['no JSON', ['{"input":'], 'trains.jsonl:1', 'the line is not JSON'],
    [
      'too many levels',
      [`{"input":{},"expect":${'{"not":'.repeat(500)}{}${'}'.repeat(501)}`],
      'trains.jsonl:1',
      'nested deeper than 100 levels',
    ],
    ['a list', ['[1]'], 'trains.jsonl:1', 'expected an object'],
    ['no input', [{ input: {} }, { id: 'x' }], 'trains.jsonl:2', 'input: is missing: expected an object'],
    ['an input that is text', [{ input: 'x' }], 'trains.jsonl:1', 'input: expected an object'],
    ['an unknown field', [{ inputs: {} }], 'trains.jsonl:1', 'unknown field "inputs"; did you mean "input"?'],
    ['a wrong expectation', [{ input: {}, expect: { matches: '(' } }], 'trains.jsonl:1', 'expect.matches: '],
    [
      'an id twice',
      [{ id: 'x', input: {} }, '', { id: 'x', input: {} }],
      'trains.jsonl:3',
      'line 1 has the same id',
    ],
  ])('with %s are refused with their line', async (_, lines, place, words) => {
    await expect(rowsOf(lines)).rejects.toMatchObject({
      code: 'SLIPWAY_DATASET_INVALID',
      place,
      message: expect.stringContaining(words),
    });
  });

  it('need a reference if their check, or they, compare with one', async () => {
    const invalid = { code: 'SLIPWAY_DATASET_INVALID', place: 'trains.jsonl:2' };
    const lines = [{ input: {}, reference: 0 }, { input: {} }];
    await expect(rowsOf(lines, { not: { reference: 'contains' } })).rejects.toMatchObject(invalid);
    const own = [{ input: {} }, { input: {}, expect: { reference: 'equals' } }];
    await expect(rowsOf(own)).rejects.toMatchObject(invalid);
    const rounded = [{ input: {}, reference: 0 }, '{"input":{},"reference":9007199254740993}'];
    expect(await rowsOf(rounded)).toHaveLength(2);
    await expect(rowsOf(rounded, { not: { reference: 'equals' } })).rejects.toMatchObject(invalid);
  });

  it('may contain any character of Unicode, and the file may begin with a byte order mark', async () => {
    const text = 'a line\u2028and a paragraph\u2029 separator, a smile 😀, and a tab\t';
    const rows = await rowsOf([
      `\uFEFF${JSON.stringify({ input: { text } })}\r`,
      { input: { text: 'next' } },
    ]);
    expect(rows.map(({ line, input }) => [line, input['text']])).toEqual([
      [1, text],
      [2, 'next'],
    ]);
  });

  it('that are not UTF-8 are refused with their line', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"input":{}}\n'),
      Buffer.from('{"input":{"q":"ü"}}', 'latin1'),
    ]);
    const rows = datasetRows(Readable.from([bytes]), 'trains.jsonl', { expect: {} });
    await rows.next();
    await expect(rows.next()).rejects.toMatchObject({
      code: 'SLIPWAY_DATASET_INVALID',
      place: 'trains.jsonl:2',
    });
  });

  it('larger than a megabyte are refused', async () => {
    await expect(rowsOf([{ input: { text: 'x'.repeat(1_000_000) } }])).rejects.toMatchObject({
      code: 'SLIPWAY_DATASET_INVALID',
      message: expect.stringContaining('larger than 1000000 bytes'),
    });
  });
});

describe('a sample of a dataset', () => {
  const many = Array.from({ length: 1_000 }, (_, q) => ({ input: { q } }));
  const drawn = async (count: number, seed: number) => {
    const rows = Readable.from(await rowsOf(many));
    return (await chosenRows(rows as AsyncIterable<DatasetRow>, count, seed)).map(({ line }) => line);
  };

  it('is the same with the same seed, and another with another', async () => {
    const first = await drawn(50, 7);
    expect(await drawn(50, 7)).toEqual(first);
    expect(await drawn(50, 8)).not.toEqual(first);
    expect(new Set(first).size).toBe(50);
    expect(first).toEqual(first.toSorted((one, other) => one - other));
  });

  it('is the whole dataset if that is smaller', async () => {
    expect(await drawn(2_000, 7)).toEqual(many.map((_, index) => index + 1));
  });
});

describe('the check that asks a row', () => {
  const check: Check = { name: 'trains', assistant: 'agent', input: {}, expect: {}, timeoutMs: 1_000 };
  const reasonsOf = (
    ofCheck: Check['expect'],
    row: Partial<DatasetRow>,
    answer: string,
    status = 'success',
  ) => {
    const asked = rowCheck({ ...check, expect: ofCheck }, { input: { q: 1 }, ...row });
    expect(asked.input).toEqual({ q: 1 });
    const run = { status: status as 'success', values: { messages: [{ content: answer }] }, latencyMs: 5 };
    return judge(asked.expect, run, ANSWER_CHECKS).reasons;
  };

  it('compares with the row’s reference', () => {
    expect(reasonsOf({ reference: 'equals' }, { reference: '10:30' }, '10:30')).toEqual([]);
    expect(reasonsOf({ reference: 'equals' }, { reference: '10:30' }, 'at 10:30')).toHaveLength(1);
    expect(reasonsOf({ reference: 'contains' }, { reference: 12 }, 'platform 12')).toEqual([]);
    expect(reasonsOf({ not: { reference: 'contains' } }, { reference: 12 }, 'platform 12')).toHaveLength(1);
  });

  it('holds the run against its own expectation and the row’s, each at its own path', () => {
    const expectations = [{ path: 'messages.0.content', contains: 'a' }, { contains: 'b' }] as const;
    expect(reasonsOf(expectations[0], { expect: expectations[1] }, 'ab')).toEqual([]);
    expect(reasonsOf(expectations[0], { expect: expectations[1] }, 'a')).toHaveLength(1);
    expect(reasonsOf(expectations[0], { expect: expectations[1] }, 'c')).toHaveLength(2);
  });

  it('expects success, or what the row says in its place', () => {
    expect(reasonsOf({}, {}, '', 'error')).toHaveLength(1);
    expect(reasonsOf({ status: 'success' }, { expect: { contains: 'a' } }, 'a', 'error')).toHaveLength(1);
    expect(reasonsOf({}, { expect: { status: 'error' } }, '')).toHaveLength(1);
    expect(reasonsOf({ status: 'success' }, { expect: { status: 'error' } }, '', 'error')).toEqual([]);
  });
});
