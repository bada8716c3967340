import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { toValidationIssues } from '../src/httpErrors.ts';
import { oneOf, Uuid } from '../src/scalars.ts';
import { issuesOf } from './checking.ts';

const SECRET = 'hunter2-is-the-value';

describe('A validation issue', () => {
  const schema = z.object({
    required: z.string(),
    word: oneOf(['a', 'b']),
    number: z.number().min(0.1).max(8).optional(),
    above: z.number().gt(0).lt(5).optional(),
    integer: z.int().optional(),
    text: z.string().min(2).max(3).optional(),
    list: z.array(z.string()).min(1).max(2).optional(),
    id: Uuid.optional(),
    either: z.union([z.string(), z.array(z.object({ name: z.string().min(1) }))]).optional(),
    map: z.record(z.string().regex(/^[a-z]+$/u), z.string()).optional(),
    even: z.number().multipleOf(2).optional(),
    strict: z.strictObject({}).optional(),
    ruled: z
      .string()
      .refine(() => false, { error: 'Never right', params: { type: 'never' } })
      .optional(),
    unnamed: z
      .string()
      .refine(() => false, { error: 'Never right' })
      .optional(),
  });
  const right = { required: 'x', word: 'a' };

  it.each([
    ['an absent field', { word: 'a' }, 'required', 'missing', 'Field required'],
    ['an absent word', { required: 'x' }, 'word', 'missing', 'Field required'],
    ['another type', { ...right, required: 1 }, 'required', 'string_type', 'Input should be a valid string'],
    ['null', { ...right, required: null }, 'required', 'string_type', 'Input should be a valid string'],
    ['another word', { ...right, word: SECRET }, 'word', 'enum', 'Input should be one of: a, b'],
    [
      'too small',
      { ...right, number: 0 },
      'number',
      'greater_than_equal',
      'Input should be greater than or equal to 0.1',
    ],
    [
      'too large',
      { ...right, number: 9 },
      'number',
      'less_than_equal',
      'Input should be less than or equal to 8',
    ],
    ['not above', { ...right, above: 0 }, 'above', 'greater_than', 'Input should be greater than 0'],
    ['not below', { ...right, above: 5 }, 'above', 'less_than', 'Input should be less than 5'],
    ['no integer', { ...right, integer: 1.5 }, 'integer', 'integer_type', 'Input should be a valid integer'],
    [
      'too short',
      { ...right, text: 'a' },
      'text',
      'string_too_short',
      'String should have at least 2 characters',
    ],
    [
      'too long',
      { ...right, text: SECRET },
      'text',
      'string_too_long',
      'String should have at most 3 characters',
    ],
    ['too few', { ...right, list: [] }, 'list', 'too_short', 'List should have at least 1 items'],
    ['too many', { ...right, list: ['a', 'b', 'c'] }, 'list', 'too_long', 'List should have at most 2 items'],
    ['inside a list', { ...right, list: [1] }, 'list.0', 'string_type', 'Input should be a valid string'],
    ['inside a union', { ...right, either: [{ name: '' }] }, 'either.0.name', 'string_too_short', undefined],
    [
      'no branch',
      { ...right, either: 7 },
      'either',
      'union',
      'Input should be a valid string, or: Input should be a valid list',
    ],
    ['a format', { ...right, id: 'x' }, 'id', 'string_format', 'Input should be a valid UUID'],
    ['a key', { ...right, map: { A1: 'x' } }, 'map.A1', 'string_format', undefined],
    ['a factor', { ...right, even: 3 }, 'even', 'multiple_of', 'Input should be a multiple of 2'],
    ['an extra field', { ...right, strict: { more: 1 } }, 'strict.more', 'extra_forbidden', undefined],
    ['a rule with a type', { ...right, ruled: 'x' }, 'ruled', 'never', 'Never right'],
    ['a rule without one', { ...right, unnamed: 'x' }, 'unnamed', 'value_error', 'Never right'],
  ])('has the place, the kind and the reason of %s', (_name, value, place, type, message) => {
    const issues = issuesOf(schema, value);
    expect(issues).toHaveLength(1);
    expect(issues[0]?.loc.join('.')).toBe(`body.${place}`);
    expect(issues[0]?.type).toBe(type);
    if (message !== undefined) expect(issues[0]?.msg).toBe(message);
  });

  it('never repeats a value', () => {
    const values = ['required', 'word', 'number', 'integer', 'list', 'either', 'map', 'even', 'ruled'];
    for (const name of values) {
      const issues = issuesOf(schema, { ...right, [name]: name === 'list' ? [[SECRET]] : SECRET });
      expect(JSON.stringify(issues)).not.toContain(SECRET);
    }
  });

  it.each(['body', 'query', 'path'] as const)('starts with the source of the value: %s', (prefix) => {
    const parsed = schema.safeParse(right.word);
    expect(parsed.success).toBe(false);
    expect(toValidationIssues(parsed.error as z.ZodError, prefix)[0]?.loc).toEqual([prefix]);
  });
});
