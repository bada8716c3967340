import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { runCompletionCommand } from '../../../src/cli/commands/completion.ts';
import { buildProgram } from '../../../src/cli/program/program.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';
import { testOutput } from '../testOutput.ts';

const program = buildProgram({ version: '0.0.0', onExit: () => undefined });

async function completion(what: string, words: readonly string[] = [], json = false) {
  const output = testOutput({ json });
  await runCompletionCommand({ output, home: '/none', environment: {} }, program, what, words);
  return output;
}

async function offered(line: string): Promise<readonly string[]> {
  const { said } = await completion('words', line.split(' '));
  return said.map((text) => text.split('\t')[0]!);
}

describe('slipway completion words', () => {
  let config: string;
  beforeEach(async () => {
    config = join(await temporaryFolder(), 'slipway.yaml');
  });

  it('offers commands, options, choices and the names of slipway.yaml at their places', async () => {
    // A file with errors has names all the same.
    await writeFile(
      config,
      'targets: { staging: 5, production: { tpyo: 1 } }\npromotions: { canary: null }\n',
    );
    const lines = {
      rel: ['release'],
      roll: ['rollback'],
      'platform keys ': ['create', 'list', 'revoke', 'help'],
      [`release --config ${config} `]: ['staging', 'production'],
      [`release --config ${config} st`]: ['staging'],
      [`release --config ${config} staging `]: [],
      [`release --reason because --config ${config} p`]: ['production'],
      [`promote --config ${config} `]: ['canary'],
      [`schedule pause --config ${config} `]: ['canary'],
      [`abort --config ${config} --promotion `]: ['canary'],
      'release --over': ['--override-hold', '--override-freeze'],
      'schedule p': ['pause'],
      'platform --vocabulary ': ['contract', 'public', 'both'],
      'logs --stage b': ['build'],
      'completion ': ['bash', 'zsh', 'fish'],
      'lint --config ': [':files'],
      'dev --home ': [':folders'],
      'status --reason': [],
    };
    const found = await Promise.all(Object.keys(lines).map(offered));
    expect(Object.fromEntries(Object.keys(lines).map((line, index) => [line, found[index]]))).toEqual(lines);
  });

  it('says what commands and options do', async () => {
    expect((await completion('words', ['relea'])).said).toEqual([
      'release\tRelease the source on a target, and follow it',
    ]);
    expect((await completion('words', ['status', '--js'])).said).toEqual([
      '--json\tprint one JSON object per line (docs/json.md)',
    ]);
  });

  it('offers no names without a file, or if it is not YAML', async () => {
    expect(await offered(`release --config ${config} `)).toEqual([]);
    await writeFile(config, 'targets: [');
    expect(await offered(`release --config ${config} `)).toEqual([]);
  });

  it('prints an event with --json', async () => {
    expect((await completion('words', ['completion', 'b'], true)).events).toEqual([
      { event: 'offers', offers: [{ word: 'bash' }] },
    ]);
  });
});

describe('the scripts', () => {
  it('of bash offers the words that the command prints, and leaves files to bash', async () => {
    const script = [
      `slipway() { [ "$3 $4 $5" = "-- release st" ] && printf 'staging\\tof the team\\nstable\\n' || echo :files; }`,
      (await completion('bash')).said.join('\n'),
      'COMP_WORDS=(slipway release st more); COMP_CWORD=2; _slipway; echo "${COMPREPLY[*]}"',
      'COMP_WORDS=(slipway lint --config ""); COMP_CWORD=3; _slipway; echo "${#COMPREPLY[@]}"',
    ].join('\n');
    expect(execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })).toBe('staging stable\n0\n');
  });

  it.each(['zsh', 'fish'])('of %s asks the command', async (shell) => {
    expect((await completion(shell)).said.join('\n')).toContain('slipway completion words -- ');
  });

  it('exist for no other shell', async () => {
    await expect(completion('tcsh')).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: 'one of: bash, zsh, fish',
    });
  });
});
