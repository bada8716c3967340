import { readFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

import { SCHEMA_VERSION } from '../../../src/cli/output.ts';

const published = JSON.parse(
  readFileSync(new URL('../../../docs/json-events.schema.json', import.meta.url), 'utf8'),
) as object;

describe('the published JSON Schema', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(published);
  const line = { event: 'gave_up', schemaVersion: SCHEMA_VERSION, why: 'timeout', exitCode: 5 };

  it('accepts a line as it is printed, and one with fields of a later version', () => {
    expect(validate(line)).toBe(true);
    expect(validate({ ...line, since: 'later' })).toBe(true);
  });

  it.each([
    ['without a field', { event: 'gave_up', schemaVersion: 1, why: 'timeout' }],
    ['with an unknown word', { ...line, why: 'bored' }],
    ['with a fraction as its exit code', { ...line, exitCode: 0.5 }],
    ['of another version', { ...line, schemaVersion: SCHEMA_VERSION + 1 }],
    ['without a version', { event: 'gave_up', why: 'timeout', exitCode: 5 }],
    ['of no event', { ...line, event: 'gave_in' }],
  ])('rejects a line %s', (_what, wrong) => {
    expect(validate(wrong)).toBe(false);
  });

  it('accepts unknown values of open lists', () => {
    const error = { message: 'x', place: null, hint: null, exitCode: 1 };
    expect(validate({ event: 'error', schemaVersion: 1, code: 'SLIPWAY_OF_LATER', ...error })).toBe(true);
    const said = { target: 'a', releaseId: null, disposition: 'taken', note: 'x', via: null };
    expect(validate({ event: 'intervention', schemaVersion: 1, kind: 'of_later', ...said })).toBe(true);
  });
});
