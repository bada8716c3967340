import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { type LintedConfig, lintConfig, loadConfig } from '../../src/config/loadConfig.ts';
import { useFolders, writeFiles } from '../support/temporaryFolder.ts';

const BASE = `targets:
  staging:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    soak: 5m
checks:
  - { name: greets, assistant: greeter }
  - { name: answers, assistant: greeter }
`;

const folder = useFolders();

async function lint(files: Readonly<Record<string, string>>): Promise<LintedConfig> {
  await writeFiles(folder(), files);
  return lintConfig('agent/slipway.yaml', folder());
}

async function problemsOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { config, problems } = await lint(files);
  if (problems.some(({ severity }) => severity === 'error')) expect(config).toBeUndefined();
  return problems.map(({ file, line, column, path, message }) =>
    `${file}:${line}:${column} ${path}: ${message}`.replaceAll(`${folder()}/`, ''),
  );
}

describe('a file that extends another', () => {
  it('has its own values, and those of the other file for the rest', async () => {
    const { config, problems } = await lint({
      'shared/base.yaml': BASE,
      'agent/slipway.yaml':
        'extends: ../shared/base.yaml\ntargets:\n  staging: { deployment: greeter, soak: 10m }\n' +
        'checks: [{ name: only, assistant: greeter }]\n',
    });
    expect(problems).toEqual([]);
    expect(config).not.toHaveProperty('extends');
    expect(config?.targets['staging']).toMatchObject({
      controlPlane: 'http://localhost:8000',
      deployment: 'greeter',
      soak: 600_000,
    });
    // A list is replaced as a whole.
    expect(config?.checks.map(({ name }) => name)).toEqual(['only']);
  });

  it('has the targets of the other file, also with a name that objects inherit', async () => {
    const { config, problems } = await lint({
      'shared/base.yaml': BASE.replace('staging:', 'constructor:').replace('soak: 5m', 'deployment: greeter'),
      'agent/slipway.yaml': 'extends: ../shared/base.yaml\ntargets: {}\n',
    });
    expect(problems).toEqual([]);
    expect(config?.targets['constructor']).toMatchObject({ deployment: 'greeter' });
  });

  it('removes a value with null, and gets the default', async () => {
    const { config } = await lint({
      'shared/more.yaml': 'extends: base.yaml\n',
      'shared/base.yaml': BASE,
      'agent/slipway.yaml':
        'extends: ../shared/more.yaml\ntargets:\n  staging: { deployment: greeter, soak: null }\nchecks: null\n',
    });
    expect(config).toMatchObject({ checks: [], targets: { staging: { soak: 0 } } });
  });

  it('takes precedence over all of them, and the last of several over the earlier ones', async () => {
    const files = {
      'shared/base.yaml': BASE,
      'one.yaml': 'extends: shared/base.yaml\ntargets: { staging: { soak: 1m, pauseFor: 1m } }\n',
      'two.yaml': 'targets: { staging: { soak: 2m, pauseFor: 2m } }\n',
      'agent/slipway.yaml':
        'extends: [../one.yaml, ../two.yaml]\ntargets: { staging: { deployment: greeter, pauseFor: 3m } }\n',
    };
    expect((await lint(files)).config?.targets['staging']).toMatchObject({
      soak: 120_000,
      pauseFor: 180_000,
    });
  });

  it('is the base of relative paths', async () => {
    await writeFiles(folder(), {
      'shared/base.yaml': `${BASE}artifact: { path: src }\n`,
      'agent/slipway.yaml': 'extends: ../shared/base.yaml\ntargets: { staging: { deployment: greeter } }\n',
    });
    expect(await loadConfig('agent/slipway.yaml', folder())).toMatchObject({
      folder: join(folder(), 'agent'),
      config: { artifact: { path: 'src' } },
    });
  });
});

describe('a problem', () => {
  it('has the file that it is in: the file itself, or one that it extends', async () => {
    expect(
      await problemsOf({
        'shared/base.yaml': BASE.replace('soak: 5m', 'soak: long').replace('answers', 'greets'),
        'agent/slipway.yaml': 'extends: ../shared/base.yaml\ntargets:\n  staging:\n    queue: some\n',
      }),
    ).toEqual([
      'agent/slipway.yaml:3:3 targets.staging.deployment: is missing: expected the deployment’s name (or deploymentId)',
      'agent/slipway.yaml:4:12 targets.staging.queue: expected one of "latest", "all"',
      expect.stringContaining('shared/base.yaml:5:11 targets.staging.soak: expected a duration'),
      'shared/base.yaml:8:13 checks.1.name: two checks are named "greets": rename one',
    ]);
  });

  it.each([
    ['a file that is not there', 'extends: ../none.yaml\n', {}, '1:10 extends: there is no file none.yaml'],
    ['a number', 'extends: 5\n', {}, '1:10 extends: expected the name of a file, or a list of them'],
    ['a folder', 'extends: ..\n', {}, /1:10 extends: .* could not be read: it is a folder/],
    [
      'itself, by a detour',
      'extends: [../one.yaml]\n',
      { 'one.yaml': 'extends: agent/slipway.yaml\n' },
      'one.yaml:1:10 extends: extends itself: agent/slipway.yaml → one.yaml → agent/slipway.yaml',
    ],
    ['a list', 'extends: ../one.yaml\n', { 'one.yaml': '- 1\n' }, '1:10 extends: one.yaml holds no fields'],
    [
      'a file that is no YAML',
      'extends: ../one.yaml\n',
      { 'one.yaml': 'targets: {\n' },
      /^one\.yaml:\d+:\d+ : /,
    ],
  ])('is a file that extends %s', async (_, text, others, expected) => {
    const problems = await problemsOf({ ...others, 'agent/slipway.yaml': text });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toEqual(expect.stringMatching(expected));
  });

  it('is a chain of too many files', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`agent/${index}.yaml`, `extends: ${index + 1}.yaml\n`]),
    );
    expect(await problemsOf({ ...files, 'agent/slipway.yaml': 'extends: 0.yaml\n' })).toEqual([
      'agent/18.yaml:1:10 extends: a configuration is made of 20 files at most',
    ]);
  });
});
