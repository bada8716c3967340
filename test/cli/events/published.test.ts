import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';

import { EVENTS } from '../../../src/cli/events/index.ts';
import { jsonEventsPage } from '../../../src/cli/events/page.ts';
import { eventsJsonSchema } from '../../../src/cli/events/publishedSchema.ts';
import { SECTIONS } from '../../../src/cli/events/sections.ts';

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));

describe('what is published of the schemas of --json', () => {
  it('is the JSON Schema that they make', () => {
    const published: unknown = JSON.parse(readFileSync(fileOf('json-events.schema.json'), 'utf8'));
    expect(published, 'npm run build makes it anew').toEqual(JSON.parse(JSON.stringify(eventsJsonSchema())));
  });

  it('is the page that they make', async () => {
    const file = fileOf('json.md');
    const page = jsonEventsPage(eventsJsonSchema());
    const expected = await format(page, { ...(await resolveConfig(file)), filepath: file });
    expect(readFileSync(file, 'utf8'), 'npm run build makes it anew').toBe(expected);
  });

  it('has each line in one section of the page', () => {
    const shown = SECTIONS.flatMap(({ events }) => events);
    expect(shown.map((event) => event.description).sort()).toEqual(
      EVENTS.map((event) => event.description).sort(),
    );
    expect(new Set(shown).size).toBe(shown.length);
  });
});

describe('the published JSON Schema', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(eventsJsonSchema());
  const line = { event: 'gave_up', schemaVersion: 1, why: 'timeout', exitCode: 5 };

  it('takes a line as it is printed, and one with fields of a later version', () => {
    expect(validate(line)).toBe(true);
    expect(validate({ ...line, since: 'later' })).toBe(true);
  });

  it.each([
    ['without a field', { event: 'gave_up', schemaVersion: 1, why: 'timeout' }],
    ['with a word that is none', { ...line, why: 'bored' }],
    ['of another version', { ...line, schemaVersion: 2 }],
    ['without a version', { event: 'gave_up', why: 'timeout', exitCode: 5 }],
    ['of no event', { ...line, event: 'gave_in' }],
  ])('takes no line %s', (_what, wrong) => {
    expect(validate(wrong)).toBe(false);
  });

  it('takes words that are not known yet where others may come', () => {
    const error = { message: 'x', place: null, hint: null, exitCode: 1 };
    expect(validate({ event: 'error', schemaVersion: 1, code: 'SLIPWAY_OF_LATER', ...error })).toBe(true);
  });
});
