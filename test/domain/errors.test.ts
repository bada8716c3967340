import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { isCodedError } from '@slipway/contract/codedError';
import { PLATFORM_ERRORS } from '@slipway/contract/platformErrors';
import { describe, expect, it } from 'vitest';

import { ERROR_CATALOGUE, SlipwayError } from '../../src/domain/errors.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The codes of the command and the worker, and those of the platform: the page lists both. */
const ALL: Readonly<Record<string, { readonly exitCode: number; readonly title: string }>> = {
  ...ERROR_CATALOGUE,
  ...PLATFORM_ERRORS,
};
const CODES = Object.keys(ALL);
const SECTIONS = new Map(
  readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section): [string, string] => [section.slice(0, section.indexOf('\n')).trim(), section]),
);

describe('docs/errors.md', () => {
  it.each(CODES)('has for %s what happened, why, and what to do', (code) => {
    const section = SECTIONS.get(code) ?? '';
    for (const part of ['**What happened.**', '**Why.**', '**What to do.**']) expect(section).toContain(part);
  });

  it('has only codes of the catalogue', () => {
    expect(
      [...SECTIONS.keys()].filter((title) => title.startsWith('SLIPWAY_') && !CODES.includes(title)),
    ).toEqual([]);
  });

  it('has each code once', () => {
    const text = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
    const titles = [...text.matchAll(/^## (SLIPWAY_\w+)$/gm)].map(([, code]) => code);
    expect(titles).toHaveLength(new Set(titles).size);
  });
});

describe('the catalogue', () => {
  it.each(CODES)('gives %s an exit code of the command and a title', (code) => {
    const { exitCode, title } = ALL[code]!;
    // 0 means success, and 5 a command that stopped waiting.
    expect([1, 2, 3, 4, 6]).toContain(exitCode);
    expect(title).toMatch(/^\S.*[^.]$/);
  });
});

it('codes of both catalogues have the same meaning in both', () => {
  expect({ ...PLATFORM_ERRORS, ...ERROR_CATALOGUE }).toEqual(ALL);
});

describe('an error', () => {
  it('carries code, place, hint, cause and exit code', () => {
    const cause = new Error('below');
    const error = new SlipwayError('SLIPWAY_USAGE', 'what?', { place: 'here', hint: 'there', cause });
    expect(error).toMatchObject({
      name: 'SlipwayError',
      code: 'SLIPWAY_USAGE',
      message: 'what?',
      place: 'here',
      hint: 'there',
      cause,
      exitCode: 1,
    });
  });

  it('is recognized by every copy of the module by its code', () => {
    expect(isCodedError(new SlipwayError('SLIPWAY_INTERNAL', 'oh'))).toBe(true);
    expect(isCodedError(Object.assign(new Error('oh'), { code: 'SLIPWAY_INTERNAL' }))).toBe(false);
  });

  it('has no cause if none was given', () => {
    expect('cause' in new SlipwayError('SLIPWAY_INTERNAL', 'oh')).toBe(false);
  });
});
