import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import {
  Deployment,
  DeploymentFields,
  DeploymentPatch,
  DeploymentStatus,
  REVISION_CREATING,
} from '../../src/controlPlane/deployment.ts';
import { CONTROL_PLANE_ENDPOINTS } from '../../src/controlPlane/endpoints.ts';
import { ListenerConfig } from '../../src/controlPlane/listener.ts';
import {
  Container,
  EnvVar,
  LocalObjectReference,
  ResourceRequirements,
  ResourceSpec,
  Volume,
  VolumeMount,
} from '../../src/controlPlane/resourceSpec.ts';
import { Secret, SecretReference } from '../../src/controlPlane/secret.ts';
import {
  AnsweredSourceConfig,
  AnsweredSourceRevisionConfig,
  SourceConfig,
  SourceRevisionConfig,
} from '../../src/controlPlane/source.ts';
import type { Held } from './coverage/row.ts';
import { ROWS } from './coverage/rows.ts';

const TESTS = join(import.meta.dirname, '..', '..', '..');
const QUOTES = ["'", '"', '`'];

/** The schemas of the tables of fields: what requests may have, and what answers have. */
const SCHEMAS: Record<string, readonly { readonly shape: object }[]> = {
  Deployment: [Deployment, DeploymentFields, DeploymentPatch],
  SourceConfig: [SourceConfig, AnsweredSourceConfig],
  SourceRevisionConfig: [SourceRevisionConfig, AnsweredSourceRevisionConfig],
  Secret: [Secret],
  SecretReference: [SecretReference],
  ResourceSpec: [ResourceSpec],
  ListenerConfig: [ListenerConfig],
  LocalObjectReference: [LocalObjectReference],
  Volume: [Volume],
  VolumeMount: [VolumeMount],
  Container: [Container],
  EnvVar: [EnvVar],
  ResourceRequirements: [ResourceRequirements],
};

const rowsOf = (section: string): string[] =>
  ROWS.filter((each) => each.section === section).map(({ row }) => row);

describe.each([...new Set(ROWS.map(({ section }) => section))])('contract 000, %s', (section) => {
  it.each(ROWS.filter((each) => each.section === section).map(({ row, heldBy }) => [row, heldBy] as const))(
    '%s is held by tests that exist',
    (_row, heldBy) => {
      expect(heldBy).not.toEqual([]);
      expect(heldBy.flatMap(missing)).toEqual([]);
    },
  );
});

describe('the rows of contract 000', () => {
  it('are each there once', () => {
    const names = ROWS.map(({ section, row }) => `${section}: ${row}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it.each(Object.entries(SCHEMAS))('have every field of %s, and no other', (name, schemas) => {
    const fields = new Set(schemas.flatMap(({ shape }) => Object.keys(shape)));
    const named = rowsOf(name).flatMap((row) => row.split(', '));
    expect(named.sort()).toEqual([...fields].sort());
  });

  it('have every endpoint of the contract, and no other', () => {
    const endpoints = Object.values(CONTROL_PLANE_ENDPOINTS)
      .filter(({ section }) => section.startsWith('contract'))
      .map(({ method, path }) => `${method} ${path}`);
    expect(rowsOf('Endpoints').sort()).toEqual(endpoints.sort());
  });

  it('have every status of a deployment, and every update that creates a revision', () => {
    expect(rowsOf('Deployment status')).toEqual(DeploymentStatus.options);
    const updates = REVISION_CREATING.map((path) => path.join('.'));
    expect(rowsOf('Revision-creating updates')).toEqual([...updates, 'and no other']);
  });
});

describe('a test that does not exist is noticed', () => {
  const file = 'contract/test/controlPlane/resourceSpec.test.ts';
  const title = '%s is an integer';

  it.each([
    ['the file', { file: 'contract/test/nowhere.test.ts', title }],
    ['the title', { file, title: '%s is an integ' }],
    ['the case', { file, title, word: 'memory' }],
  ])('by %s', (_what, held) => {
    expect(missing({ file, title, word: 'memory_mb' })).toEqual([]);
    expect(missing(held)).toHaveLength(1);
  });
});

/** What is not there of a test that is said to hold a row. */
function missing({ file, title, word }: Held): string[] {
  const text = textOf(file);
  if (text === undefined) return [`no file test/${file}`];
  if (!isNamed(text, title)) return [`no test "${title}" in test/${file}`];
  if (word === undefined || [text, ...importedBy(file, text)].some((each) => hasWord(each, word))) return [];
  return [`nothing of "${word}" in test/${file}`];
}

const texts = new Map<string, string | undefined>();

function textOf(file: string): string | undefined {
  if (!texts.has(file)) texts.set(file, read(file));
  return texts.get(file);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(join(TESTS, file), 'utf8');
  } catch {
    return undefined;
  }
}

/** Whether a call has the title as its first argument, as `it` and what `it.each` gives have; `it.skip` holds nothing. */
function isNamed(text: string, title: string): boolean {
  return QUOTES.some((quote) => {
    const [before = '', ...after] = text.split(`${quote}${title}${quote},`);
    return after.length > 0 && /(?<!\.(?:skip|todo))\($/u.test(before.trimEnd());
  });
}

/** The tables of cases that a test shares with others lie beside it. */
function importedBy(file: string, text: string): string[] {
  return [...text.matchAll(/ from '(\.\/[^']+)'/gu)].flatMap(
    ([, path = '']) => textOf(join(dirname(file), path)) ?? [],
  );
}

/** Whether the text has the word as a string, or as the name of a field. */
function hasWord(text: string, word: string): boolean {
  return text.includes(` ${word}:`) || QUOTES.some((quote) => text.includes(`${quote}${word}${quote}`));
}
