import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';

import { SCHEMA_VERSION } from '../../../src/cli/output.ts';

const script = (name: string): string => new URL(`../../../scripts/build/${name}`, import.meta.url).href;
const fileOf = (name: string): string => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));

const { eventsSchema } = (await import(script('eventsSchema.mjs'))) as {
  readonly eventsSchema: (version: number) => { readonly schema: object };
};
const { eventsPage } = (await import(script('eventsPage.mjs'))) as {
  readonly eventsPage: (events: ReturnType<typeof eventsSchema>, version: number) => string;
};

const published = JSON.parse(readFileSync(fileOf('json-events.schema.json'), 'utf8')) as object;

it('the published schema and its page match the types', async () => {
  const events = eventsSchema(SCHEMA_VERSION);
  expect(published, 'npm run build makes it anew').toEqual(events.schema);
  const file = fileOf('json.md');
  const page = await format(eventsPage(events, SCHEMA_VERSION), {
    ...(await resolveConfig(file)),
    filepath: file,
  });
  expect(readFileSync(file, 'utf8'), 'npm run build makes it anew').toBe(page);
  // It compiles the types, which takes 5 s of processor time.
}, 120_000);

describe('the published JSON Schema', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(published);
  const line = { event: 'gave_up', schemaVersion: 1, why: 'timeout', exitCode: 5 };

  it('accepts a line as it is printed, and one with fields of a later version', () => {
    expect(validate(line)).toBe(true);
    expect(validate({ ...line, since: 'later' })).toBe(true);
  });

  it.each([
    ['without a field', { event: 'gave_up', schemaVersion: 1, why: 'timeout' }],
    ['with an unknown word', { ...line, why: 'bored' }],
    ['with a fraction as its exit code', { ...line, exitCode: 0.5 }],
    ['of another version', { ...line, schemaVersion: 2 }],
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
