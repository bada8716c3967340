import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';

import { configJsonSchema, lintConfig, loadConfig } from '../../src/config/loadConfig.ts';
import { useFolders } from '../support/temporaryFolder.ts';
import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

const RIGHT = `
targets:
  staging:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deployment: greeter
checks:
  - name: greets
    assistant: greeter
    input: { messages: [] }
    expect: { contains: Hello, maxLatency: 1m30s }
`;

/** A file with more fields of the target, from line 6. */
function withField(...fields: readonly string[]): string {
  return RIGHT.replace('deployment:', [...fields, 'deployment:'].join('\n    '));
}

function withFreeze(fields: string): string {
  return withField(`freezes: [{ name: quiet, ${fields} }]`);
}

describe('a valid slipway.yaml', () => {
  it('gets its defaults, and its durations in milliseconds', () => {
    const config = parseConfig(RIGHT, 'slipway.yaml');
    expect(config.targets['staging']).toMatchObject({ source: 'internal_source', queue: 'latest', soak: 0 });
    const prune = { keep: 20, olderThan: 30 * 86_400_000 };
    expect(config.artifact).toEqual({ path: '.', ignore: [], prune });
    expect(config.checks[0]).toMatchObject({ timeoutMs: 60_000, expect: { maxLatencyMs: 90_000 } });
  });
});

/** Nine times nine times nine … values. */
const ALIASES_OF_ALIASES = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].reduce(
  (text, name, index) => `${text}${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(', ')}]\n`,
  'a: &a [x]\n',
);

describe('an invalid slipway.yaml', () => {
  it('has every problem at once, with line, column, field and what was expected', () => {
    const text = RIGHT.replace('deployment: greeter', 'deploymnet: greeter').replace('1m30s', '90 bananas');
    expect(errorsIn(text).split('\n')).toEqual([
      'slipway.yaml:3:3 targets.staging.deployment: is missing: expected the deployment’s name (or deploymentId)',
      'slipway.yaml:6:5 targets.staging.deploymnet: unknown field "deploymnet"; did you mean "deployment"?',
      expect.stringMatching(/^slipway\.yaml:11:\d+ checks\.0\.expect\.maxLatency: expected a duration/),
    ]);
  });

  it.each<[text: string, expected: RegExp]>([
    [withField('source: docker'), /expected one of "internal_source"/],
    [RIGHT.replace('http://localhost:8000', 'localhost'), /controlPlane: expected an http or https URL/],
    [RIGHT.replace('8000', '8000/cp?tenant=a'), /controlPlane: expected an address without a query/],
    [RIGHT.replace('8000', '8000/#cp'), /controlPlane: expected an address without a query and a fragment/],
    [withField('source: external_image'), /image: expected, for source external_image/],
    [withField('image: agent:1'), /image: only for image sources/],
    [RIGHT.replace('contains: Hello', 'matches: "("'), /matches: Invalid regular expression/],
    [
      withFreeze('timeZone: Europe/Bonn, from: "22:00", until: "06:00"'),
      /:6:\d+ .*: expected an IANA time zone/,
    ],
    [withFreeze('from: "Fry 16:00", until: "Mon 08:00"'), /:6:\d+ .*freezes\.0\.from: expected a moment/],
    [withFreeze('from: 2026-12-24, until: 2026-12-23'), /freezes\.0\.until: expected a moment after from/],
    [
      `${RIGHT}steps: { pacth: { startToClose: 5s } }`,
      /^slipway\.yaml:12:10 steps\.pacth: unknown field "pacth"; did you mean "patch"\?$/,
    ],
    // With a second problem.
    [
      `${RIGHT.replace('deployment: greeter', 'deployment: 5')}promotions: { p: { from: staging, to: stagin } }`,
      /deployment: expected text\n.*promotions\.p\.to: slipway.yaml has no target of that name; did you mean "staging"\?/,
    ],
    [
      withField('source: repo_host', 'repo: { url: u, ref: refs/tags/v1, buildOnPush: true }'),
      /repo\.buildOnPush: a tag is not built on push/,
    ],
    [
      withField('approval: { required: 2, approvers: [ada] }'),
      /approval\.required: can never be reached: one person may approve/,
    ],
    [RIGHT.replace('1m30s', '90'), /expected a duration such as 30s/],
    [
      RIGHT.replace('checks:', '  staging: {}\nchecks:'),
      /^slipway\.yaml:\d+:3 "staging" is defined twice here: rename or remove one$/m,
    ],
    [RIGHT.replace(/controlPlane:.*\n/, 'queue: latest\n'), /controlPlane: is missing: expected an http/],
    [RIGHT.replace(/controlPlane:.*/, 'controlPlane:'), /controlPlane: is empty: expected an/],
    [
      RIGHT.replace('env:SLIPWAY_API_KEY', 'sk-1'),
      /apiKey\.from: expected env:NAME or .* never the secret itself/,
    ],
    [
      RIGHT.replace(/apiKey:.*/, 'apiKey: sk-123'),
      /apiKey: expected \{ from: env:NAME \} or .*, never the secret/,
    ],
    [
      withField('secrets: [{ name: OPENAI_API_KEY, value: sk-123 }]'),
      /secrets\.0\.from: is missing: expected env:NAME or .*, never the secret itself$/m,
    ],
    [withField('agentOrigins: [https://a.example/x]'), /agentOrigins\.0: expected an origin such as https:/],
    [
      withField('agentOrigins: [https://a:99999]'),
      /^\S+ targets\.\w+\.agentOrigins\.0: expected an origin .*$/,
    ],
    ['targets:', /targets: is empty: define at least one target$/],
    ['targets: {}', /targets: define at least one target/],
    ['', /^slipway\.yaml:1:1 targets: is missing: define at least one target$/],
    ['targets: [', /^slipway\.yaml:1:\d+ /],
    [ALIASES_OF_ALIASES, /^slipway\.yaml:1:1 has too many aliases of aliases: write their values out$/],
    [
      RIGHT.replace('deployment: greeter', 'deployment: *name'),
      /:6:17 no anchor has this name above: &name$/,
    ],
    [
      RIGHT.replace('deployment: greeter', 'deployment: &name [*name]'),
      /:6:24 is part of what it repeats: &name$/,
    ],
    [`${RIGHT}---\n${RIGHT}`, /^slipway\.yaml:12:1 a second document begins here: slipway\.yaml has one$/],
    [`targets: ${'['.repeat(9000)}${']'.repeat(9000)}\n`, /^slipway\.yaml:1:\d+ is nested too deeply$/],
    [
      withField('<<: {}'),
      /:6:5 targets\.staging\.<<: YAML 1\.2 has no merge key "<<": write the fields out$/,
    ],
    [
      RIGHT.replace('greeter', 'x'.repeat(200)),
      /targets\.staging\.deployment: expected at most 128 characters$/,
    ],
    [`${RIGHT}    timeout: 0s\n`, /checks\.0\.timeout: expected more than 0s$/],
    [
      RIGHT.replace('- name: greets', '- name: soak'),
      /checks\.0\.name: expected another name: "slipway skip" means the soak by it$/,
    ],
    [withField('approval: { required: 0 }'), /approval\.required: expected at least 1$/],
    [withField('approval: { approvers: [] }'), /approval\.approvers: expected at least 1 entry$/],
    [RIGHT.replace(/http:.*/, 'C:\\cp'), /^[^\n]*controlPlane: expected an http or https URL$/],
  ])('has an error with line, field and cause: $1', (text, expected) => {
    expect(errorsIn(text)).toMatch(expected);
  });

  it('has an error if its target would reject it', () => {
    expect(errorsIn(`${RIGHT}    feedbackKey: ${'x'.repeat(1_001)}\n`)).toMatch(
      /^slipway\.yaml:\S+ targets\.staging: the target would reject each release: "checks\.0\.feedbackKey" is longer.*$/,
    );
  });
});

describe('finding slipway.yaml', () => {
  const folder = useFolders();

  it('searches the working folder and the folders above it', async () => {
    await writeFile(join(folder(), 'slipway.yaml'), RIGHT);
    await mkdir(join(folder(), 'a', 'b'), { recursive: true });
    const loaded = await loadConfig(undefined, join(folder(), 'a', 'b'));
    expect(loaded.file).toBe(join(folder(), 'slipway.yaml'));
    expect(loaded.folder).toBe(folder());
  });

  it('reports a missing file', async () => {
    await expect(loadConfig(undefined, folder())).rejects.toMatchObject({ code: 'SLIPWAY_CONFIG_NOT_FOUND' });
    await expect(loadConfig('other.yaml', folder())).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_NOT_FOUND',
      hint: 'write one with "slipway init", or name it: --config FILE',
    });
  });

  it('reports a file that is not text, or that cannot be read', async () => {
    await writeFile(join(folder(), 'utf16.yaml'), Buffer.from(`\uFEFF${RIGHT}`, 'utf16le'));
    await expect(loadConfig('utf16.yaml', folder())).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_INVALID',
      message: `${join(folder(), 'utf16.yaml')} is not text in UTF-8`,
    });
    await symlink('loop.yaml', join(folder(), 'loop.yaml'));
    await expect(loadConfig('loop.yaml', folder())).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_NOT_FOUND',
      message: `${join(folder(), 'loop.yaml')} could not be read: its symbolic links form a loop`,
    });
  });

  it('reports a pipe with a name, which nothing writes to, instead of waiting', async () => {
    const pipe = join(folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const refused = { code: 'SLIPWAY_CONFIG_NOT_FOUND', message: `${pipe} could not be read: it is a pipe` };
    await expect(loadConfig('pipe', folder())).rejects.toMatchObject(refused);
    await writeFile(join(folder(), 'slipway.yaml'), 'extends: pipe\n');
    await expect(loadConfig(undefined, folder())).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining('it is a pipe') as string }],
    });
  });

  it('reports a broken link, instead of a file above it that may name another deployment', async () => {
    await writeFile(join(folder(), 'slipway.yaml'), RIGHT);
    const below = join(folder(), 'agent');
    await mkdir(below);
    await symlink('gone.yaml', join(below, 'slipway.yaml'));
    await expect(loadConfig(undefined, below)).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_NOT_FOUND',
      message: `${join(below, 'slipway.yaml')} could not be read: it is a broken symbolic link`,
      hint: 'correct that, or name another file: --config FILE',
    });
  });

  it('reads a file with a byte order mark, without counting it as a column', async () => {
    await writeFile(join(folder(), 'slipway.yaml'), `\uFEFFunknown: 1${RIGHT}`);
    const { problems } = await lintConfig(undefined, folder());
    expect(problems).toMatchObject([{ line: 1, column: 1, excerpt: 'unknown: *' }]);
  });
});

const script = (name: string) => new URL(`../../scripts/build/${name}`, import.meta.url).href;
const { editorSchema } = (await import(script('editorSchema.mjs'))) as {
  readonly editorSchema: (schema: object) => object;
};

it('a file that extends another requires no field, and rejects unknown ones', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const validate = ajv.compile(editorSchema(configJsonSchema()));
  const target = { deployment: 'greeter' };
  expect(validate({ targets: { staging: target } })).toBe(false);
  expect(
    validate({ extends: 'base.yaml', targets: { staging: target } }),
    ajv.errorsText(validate.errors),
  ).toBe(true);
  expect(validate({ extends: 'base.yaml', targets: { staging: { deploymnet: 'greeter' } } })).toBe(false);
});

it('the published reference of slipway.yaml describes every field', () => {
  const published = readFileSync(new URL('../../docs/slipway-yaml.md', import.meta.url), 'utf8');
  const described = [...published.matchAll(/^- `(\w+)` \(.+\):\n {2}\S/gmu)].map(([, name]) => name);
  expect([...new Set(described)].toSorted()).toEqual(fieldsOf(configJsonSchema()));
});

function fieldsOf(schema: object): readonly string[] {
  const fields = new Set<string>();
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === 'properties') for (const name of Object.keys(value as object)) fields.add(name);
    return value;
  });
  return [...fields].toSorted();
}
