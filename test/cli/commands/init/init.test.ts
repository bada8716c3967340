import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { beforeEach, describe, expect, it } from 'vitest';

import {
  type InitOptions,
  type InitSurroundings,
  runInitCommand,
} from '../../../../src/cli/commands/init/init.ts';
import { deploymentName, repositoryFacts } from '../../../../src/cli/commands/init/repositoryFacts.ts';
import type { CommandContext } from '../../../../src/cli/context.ts';
import { lintText } from '../../../../src/config/loadConfig.ts';
import { testOutput } from '../../testOutput.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { parseConfig } from '../../../config/parseConfig.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

const NOBODY = undefined;

async function init(
  options: InitOptions,
  terminal: InitSurroundings['terminal'] = NOBODY,
  output = testOutput(),
) {
  const context: CommandContext = { output, home: join(folder, '.slipway'), environment: {} };
  await runInitCommand(context, options, { folder, terminal });
  return { said: output.said, noted: output.noted };
}

const written = (path = 'slipway.yaml'): Promise<string> => readFile(join(folder, path), 'utf8');
const graphs = (file: string, ...names: readonly string[]): Promise<void> =>
  writeFile(
    join(folder, file),
    JSON.stringify({ graphs: Object.fromEntries(names.map((name) => [name, './a.ts:g'])) }),
  );

describe('slipway init --yes', () => {
  it('writes a valid file from the repository’s facts, and prints the next command', async () => {
    await graphs('graph.json', 'greeter');
    await writeFile(join(folder, 'package.json'), '{ "name": "@acme/Greeter_Agent" }');
    const { said } = await init({ yes: true });
    const text = await written();
    expect(lintText(text).problems).toEqual([]);
    expect(text).toMatch(/^# yaml-language-server: \$schema=file:.*slipway\.schema\.json$/m);
    const { targets, checks } = parseConfig(text, 'slipway.yaml');
    expect(targets['staging']?.deployment).toBe('greeter-agent');
    expect(checks[0]?.assistant).toBe('greeter');
    expect(said.at(-1)).toBe('Next: run "slipway dev" in another terminal, then "slipway release staging"');
  });

  it('names a graph configuration with an unusual name', async () => {
    await graphs('langgraph.json', 'a: b');
    await init({ yes: true });
    const { artifact, checks } = parseConfig(await written(), 'slipway.yaml');
    expect(artifact.graphConfig).toBe('langgraph.json');
    expect(checks[0]?.assistant).toBe('a: b');
  });

  it('reports a missing graph, and writes a valid file anyway', async () => {
    const { said } = await init({
      yes: true,
      deployment: '123',
      controlPlane: 'https://control-plane.example.com',
    });
    expect(said[0]).toContain('this folder has no graph.json');
    expect(said.at(-1)).toContain('slipway doctor');
    expect(parseConfig(await written(), 'f').targets['staging']?.deployment).toBe('123');
  });

  it('warns of a Python agent, as slipway lint does', async () => {
    const graphs = { greeter: './greeter.py:graph' };
    await writeFile(join(folder, 'graph.json'), JSON.stringify({ graphs }));
    const { noted } = await init({ yes: true });
    expect(noted.join('\n')).toContain('release it to a control plane that builds Python agents');
  });

  it('writes the CI file with the name of the target', async () => {
    await init({ yes: true, ci: 'github', target: 'prod' });
    const workflow = await written('.github/workflows/release.yml');
    expect(workflow).toMatch(/^ +target: prod$/m);
    expect(workflow).toMatch(/^ +name: prod$/m);
    await init({ yes: true, ci: 'gitlab', target: 'prod', force: true });
    expect(await written('.gitlab/slipway.gitlab-ci.yml')).toMatch(/SLIPWAY_INPUT_TARGET: prod$/m);
  });

  it('in a folder of a repository, says where CI finds its file', async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    expect((await init({ yes: true, ci: 'github' })).said.join()).not.toContain('move it');
    folder = join(folder, 'agents', 'one');
    await mkdir(folder, { recursive: true });
    const { said } = await init({ yes: true, ci: 'github' });
    expect(said.join()).toContain(
      'move it to the root of the repository, and add to its jobs "config: agents/one/slipway.yaml"',
    );
  });

  it('prints an event for each file that it writes', async () => {
    const output = testOutput({ json: true });
    await init({ yes: true, ci: 'github' }, NOBODY, output);
    expect(output.events).toEqual([
      { event: 'written', file: join(folder, 'slipway.yaml') },
      { event: 'written', file: expect.stringContaining(join(folder, '.github')) },
    ]);
  });

  it('overwrites nothing, and writes nothing if a part exists, without --force', async () => {
    await init({ yes: true, target: 'first' });
    const before = await written();
    await expect(init({ yes: true, ci: 'github' })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      message: 'slipway.yaml exists already',
    });
    await expect(written('.github/workflows/release.yml')).rejects.toThrow('ENOENT');
    expect(await written()).toBe(before);
    await init({ yes: true, target: 'second', force: true });
    expect(await written()).toContain('second:');
  });

  it('rejects an invalid name of a target before it writes anything', async () => {
    await expect(init({ yes: true, target: 'my target' })).rejects.toMatchObject({
      message: expect.stringContaining('targets.my target: expected letters'),
    });
    await expect(written()).rejects.toThrow('ENOENT');
  });
});

describe('slipway init', () => {
  it('asks, offers what it has found, and asks again after an invalid answer', async () => {
    await graphs('graph.json', 'greeter', 'judge');
    const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
    const answers = ['my target', 'production', 'http://control-plane', '', 'judge', 'none'];
    let screen = '';
    output.on('data', (text: string) => {
      screen += text;
      if (text.endsWith('] ')) input.write(`${answers.shift() ?? ''}\n`);
    });
    await init({ deployment: 'mine' }, { input, output });
    const { targets, checks } = parseConfig(await written(), 'slipway.yaml');
    expect(targets).toMatchObject({
      production: { controlPlane: 'http://control-plane', deployment: 'mine' },
    });
    expect(checks[0]?.assistant).toBe('judge');
    expect(screen).toContain('What is the name of the first target? [staging]');
    expect(screen).toContain(
      'use letters, digits, dots and dashes only. What is the name of the first target?',
    );
  });

  it('writes nothing if a question is interrupted', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    // What a terminal sends for Ctrl-C to a program that reads its keys.
    Object.assign(output, { isTTY: true });
    output.once('data', () => input.write('\u0003'));
    let screen = '';
    output.on('data', (text: string) => (screen += text));
    await expect(init({}, { input, output })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      exitCode: 1,
      message: 'stopped; nothing was written',
    });
    expect(screen.endsWith('\n')).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  });

  it('names the file that it cannot write, and changes no other', async () => {
    await writeFile(join(folder, '.github'), '');
    await expect(init({ yes: true, ci: 'github' })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      message: expect.stringMatching(/^\.github\/workflows\/release\.yml could not be written: E/) as string,
    });
    expect(await readdir(folder)).toEqual(['.github']);
    await init({ yes: true, target: 'first' });
    const before = await written();
    await expect(init({ yes: true, ci: 'github', force: true })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
    });
    expect(await written()).toBe(before);
  });

  it('gives advice if there is no terminal for questions', async () => {
    await expect(init({})).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: expect.stringContaining('--yes'),
    });
  });
});

describe('the facts of a repository', () => {
  it.each([
    ['git@github.com:acme/greeter.git', 'github', 'greeter'],
    ['https://gitlab.example.com/acme/agents/greeter', 'gitlab', 'greeter'],
    ['https://git.example.com/greeter.git/', undefined, 'greeter'],
  ])('include its host and name, from the remote %s', async (remote, host, name) => {
    expect(await repositoryFacts(folder, () => Promise.resolve(remote))).toMatchObject({ host, name });
  });

  it.each([
    ['pnpm-lock.yaml', 'pnpm'],
    ['bun.lock', 'bun'],
    ['package-lock.json', 'npm'],
  ])('include its package manager, from %s', async (file, packageManager) => {
    await writeFile(join(folder, file), '');
    expect(await repositoryFacts(folder, () => Promise.resolve(undefined))).toMatchObject({ packageManager });
  });

  it('include no graph if the graph configuration is not JSON', async () => {
    await writeFile(join(folder, 'graph.json'), '{');
    expect(await repositoryFacts(folder, () => Promise.resolve(undefined))).toMatchObject({
      graphConfig: 'graph.json',
      graphs: [],
    });
  });

  it('include a name that every control plane accepts', () => {
    expect(['@acme/My Agent', '---', 'Ünïcode'].map(deploymentName)).toEqual(['my-agent', 'agent', 'n-code']);
  });
});
