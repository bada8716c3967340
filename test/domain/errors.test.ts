import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { ERROR_CATALOGUE, type ErrorCode, SlipwayError } from '../../src/domain/errors.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
const SECTIONS = new Map(
  readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section): [string, string] => [section.slice(0, section.indexOf('\n')).trim(), section]),
);

describe('docs/errors.md', () => {
  it.each(CODES)('says of %s what happened, why, and what to do', (code) => {
    const section = SECTIONS.get(code) ?? '';
    for (const part of ['**What happened.**', '**Why.**', '**What to do.**']) expect(section).toContain(part);
  });

  it('tells of no code that is not in the catalogue', () => {
    expect(
      [...SECTIONS.keys()].filter(
        (title) => title.startsWith('SLIPWAY_') && !CODES.includes(title as ErrorCode),
      ),
    ).toEqual([]);
  });

  it('tells of each code once', () => {
    const text = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
    const titles = [...text.matchAll(/^## (SLIPWAY_\w+)$/gm)].map(([, code]) => code);
    expect(titles).toHaveLength(new Set(titles).size);
  });
});

describe('the catalogue', () => {
  it('has every code that the sources name', () => {
    const named = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .flatMap((entry) => [
        ...readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(/new SlipwayError\(\s*'(\w+)'/g),
      ])
      .map(([, code]) => code);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((code) => !CODES.includes(code as ErrorCode))).toEqual([]);
  });

  it.each(CODES)('gives %s an exit code of the command and a title', (code) => {
    const { exitCode, title } = ERROR_CATALOGUE[code];
    // 0 is no failure, and 5 is for a command that stopped waiting.
    expect([1, 2, 3, 4, 6]).toContain(exitCode);
    expect(title).toMatch(/^\S.*[^.]$/);
  });
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

  it('has no cause where none was given', () => {
    expect('cause' in new SlipwayError('SLIPWAY_INTERNAL', 'oh')).toBe(false);
  });
});
