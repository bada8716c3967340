import { expect } from 'vitest';
import type { z } from 'zod';

import { toValidationIssues, type ValidationIssue, type ValidationPrefix } from '../src/httpErrors.ts';

/** The issues of a value, as they are sent; none if it is valid. */
export function issuesOf(
  schema: z.ZodType,
  value: unknown,
  prefix: ValidationPrefix = 'body',
): ValidationIssue[] {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : toValidationIssues(parsed.error, prefix);
}

/** The invalid places in a value, as text. */
export function placesOf(schema: z.ZodType, value: unknown, prefix: ValidationPrefix = 'body'): string[] {
  return issuesOf(schema, value, prefix).map(({ loc }) => loc.join('.'));
}

/** Expects that a value is valid and unchanged. */
export function expectAccepted(schema: z.ZodType, value: unknown): void {
  expect(issuesOf(schema, value)).toEqual([]);
}

/** Expects that a value is invalid at one place, for one kind of reason. */
export function expectRefused(schema: z.ZodType, value: unknown, place: string, type?: string): void {
  const issues = issuesOf(schema, value);
  expect(issues.map(({ loc }) => loc.join('.'))).toEqual([place]);
  if (type !== undefined) expect(issues.map((issue) => issue.type)).toEqual([type]);
}
