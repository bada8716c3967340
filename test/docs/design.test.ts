import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DESIGN = readFileSync(join(ROOT, 'DESIGN.md'), 'utf8');
const SOURCES = ['src', 'packages/contract/src', 'packages/platform/src'];
/** `rule 5`, `(design, "Words")`. */
const CITATION = /\b[Rr]ule (\d+)|\(design, "([^"]+)"/g;

it('DESIGN.md has every rule and section that comments cite', () => {
  const [, rules = ''] = DESIGN.split('## Rules that hold always');
  const cited = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').replaceAll(/\n *\* */g, ' ')),
  ).flatMap((text) => [...text.matchAll(CITATION)]);
  const missing = cited.filter(([, rule = '', section]) =>
    section === undefined ? !rules.includes(`\n${rule}. `) : !DESIGN.includes(`\n## ${section}\n`),
  );
  expect(cited.length).toBeGreaterThan(10);
  expect(missing.map(([citation]) => citation)).toEqual([]);
});
