import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { PLATFORM_ERRORS } from '@slipway/contract/platformErrors';
import { describe, expect, it } from 'vitest';

import { ERROR_CATALOGUE } from '../../src/domain/errors.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The places that read variables, or set them for a reader. */
const PLACES = [
  'src',
  'packages/contract/src',
  'packages/platform/src',
  'bin',
  'templates',
  'packages/action/action.yml',
  'packages/action/install.sh',
  'packages/action/key.sh',
  'packages/action/run.sh',
  'docker-compose.yml',
];
const NAME = /\bSLIPWAY_[A-Z0-9_]*[A-Z0-9]\b/g;
/** On the page, families too. */
const NAME_OR_FAMILY = /\bSLIPWAY_[A-Z0-9_]*[A-Z0-9](?:\b|(?=_…))/g;

/** Temporal's own variables. Constants in the code have similar names. */
const TEMPORAL_NAME = /\bTEMPORAL_[A-Z_]*[A-Z](?=_?(?:\b|…))/g;

/** The variables of a family are documented together, as `SLIPWAY_AGENT_…`. */
const FAMILIES = ['SLIPWAY_AGENT', 'SLIPWAY_INPUT', 'SLIPWAY_VAR'];

describe('the page of environment variables', () => {
  const page = readFileSync(join(ROOT, 'docs/environment.md'), 'utf8');

  it('names exactly the variables that the code reads', () => {
    const read = new Set(PLACES.flatMap(files).flatMap(namesIn).map(familyOf));
    const named = new Set((page.match(NAME_OR_FAMILY) ?? []).map(familyOf));
    expect([...named].toSorted()).toEqual([...read].toSorted());
  });

  it('names every variable of Temporal that the code reads or names', () => {
    const text = files('src')
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const read = [...text.matchAll(TEMPORAL_NAME)].filter(([name]) => !text.includes(`const ${name} =`));
    expect(new Set(page.match(TEMPORAL_NAME))).toEqual(new Set(read.map(([name]) => name)));
  });
});

function files(place: string): readonly string[] {
  const path = join(ROOT, place);
  if (/\.\w+$/.test(place)) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function namesIn(file: string): readonly string[] {
  const names = readFileSync(file, 'utf8').match(NAME) ?? [];
  return names.filter((name) => !isErrorCode(name));
}

function isErrorCode(name: string): boolean {
  return name in ERROR_CATALOGUE || name in PLATFORM_ERRORS || name === 'SLIPWAY_X';
}

function familyOf(name: string): string {
  return FAMILIES.find((family) => name.startsWith(family)) ?? name;
}
