import { expect } from 'vitest';
import type { z } from 'zod';

import { toValidationIssues, type ValidationIssue, type ValidationPrefix } from '../src/httpErrors.ts';

/** The issues of a value, as they would go over the wire; none where it is right. */
export function issuesOf(
  schema: z.ZodType,
  value: unknown,
  prefix: ValidationPrefix = 'body',
): ValidationIssue[] {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : toValidationIssues(parsed.error, prefix);
}

/** Where a value is not right, each place as text. */
export function placesOf(schema: z.ZodType, value: unknown, prefix: ValidationPrefix = 'body'): string[] {
  return issuesOf(schema, value, prefix).map(({ loc }) => loc.join('.'));
}

/** Holds that a value is right as it is. */
export function expectAccepted(schema: z.ZodType, value: unknown): void {
  expect(issuesOf(schema, value)).toEqual([]);
}

/** Holds that a value is wrong at one place, for one kind of reason. */
export function expectRefused(schema: z.ZodType, value: unknown, place: string, type?: string): void {
  const issues = issuesOf(schema, value);
  expect(issues.map(({ loc }) => loc.join('.'))).toEqual([place]);
  if (type !== undefined) expect(issues.map((issue) => issue.type)).toEqual([type]);
}
