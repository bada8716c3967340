import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);

function textOf(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8');
}

const rows = [...textOf('docs/exit-codes.md').matchAll(/^\| (\d) .*\| `(test\/\S+)` +\| (.+?) +\|$/gm)].map(
  ([, code = '', file = '', title = '']) => ({ code, file, title }),
);

describe('docs/exit-codes.md', () => {
  it('shows every exit code', () => {
    expect([...new Set(rows.map(({ code }) => code))]).toEqual(['0', '1', '2', '3', '4', '5', '6']);
  });

  it.each(rows)('names an existing test of $code: $title', ({ code, file, title }) => {
    const [, test = ''] = textOf(file).split(`'${title}'`);
    const body = test.split(/\n {0,2}(?:it|describe)/)[0] ?? '';
    expect(body).toMatch(new RegExp(`(?:toBe|toEqual)\\(${code}\\)`));
  });
});
