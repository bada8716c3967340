import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { runCompletionCommand } from '../../../../src/cli/commands/completion/completion.ts';
import { completionModel } from '../../../../src/cli/commands/completion/model.ts';
import type { CommandContext } from '../../../../src/cli/context.ts';
import { buildProgram } from '../../../../src/cli/program/program.ts';
import { testOutput } from '../../testOutput.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

const model = () => completionModel(buildProgram({ version: '0.0.0', onExit: () => undefined }));

async function said(what: string, options: { readonly config?: string } = {}): Promise<string> {
  const output = testOutput();
  const context: CommandContext = { output, home: '/none', environment: {} };
  expect(await runCompletionCommand(context, what, model, options)).toBe(0);
  return output.said.join('\n');
}

/** A stand-in for the command: prints the names from slipway.yaml. */
const STAND_IN = `slipway() {
  case "$*" in
    'completion targets') printf 'staging\\nproduction\\n' ;;
    'completion targets --config other.yaml') printf 'elsewhere\\n' ;;
    'completion promotions') printf 'canary-to-production\\n' ;;
  esac
}`;

/** What a shell offers for the last word of each line. */
async function offered(lines: readonly string[]): Promise<readonly string[][]> {
  const asks = lines.map((line) => {
    const words = ['slipway', ...line.split(' ')].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${words}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _slipway; printf '%s ' "\${COMPREPLY[@]}"; echo`;
  });
  const script = [await said('bash'), STAND_IN, ...asks].join('\n');
  const text = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => line.trim().split(' '));
}

describe('the completion of a real bash', () => {
  it('offers commands, options, choices and the names of slipway.yaml at their places', async () => {
    const lines = {
      rel: ['release'],
      roll: ['rollback'],
      'platform keys ': ['create', 'list', 'revoke', 'help'],
      'release ': ['staging', 'production'],
      'release st': ['staging'],
      'release staging ': [''],
      'release --over': ['--override-hold', '--override-freeze'],
      'release --reason because ': ['staging', 'production'],
      'release --config other.yaml ': ['elsewhere'],
      'promote ': ['canary-to-production'],
      'schedule p': ['pause'],
      'schedule pause ': ['canary-to-production'],
      'platform --vocabulary ': ['contract', 'public', 'both'],
      'logs --stage b': ['build'],
      'completion ': ['bash', 'zsh', 'fish'],
      'status --reason': [''],
    };
    const found = await offered(Object.keys(lines));
    expect(Object.fromEntries(Object.keys(lines).map((line, index) => [line, found[index]]))).toEqual({
      ...lines,
      'platform keys ': expect.arrayContaining(['create', 'list', 'revoke']),
    });
  });

  it('has every command and each of its options', async () => {
    const script = await said('bash');
    for (const { commands, options } of model()) {
      for (const { name } of [...commands, ...options]) expect(script).toContain(`'${name}:`);
    }
  });
});

describe('the completions of zsh and fish', () => {
  it.each(['zsh', 'fish'])('name every command and option, with its description: %s', async (shell) => {
    const script = await said(shell);
    for (const { commands, options } of model()) {
      for (const { name } of commands) expect(script).toContain(name);
      for (const { name } of options) expect(script).toContain(name.slice(2));
    }
    expect(script).toContain('Release the source on a target, and follow it');
  });
});

describe('the completed names', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  it('come from slipway.yaml, even if it has errors', async () => {
    const config = join(folder, 'slipway.yaml');
    await writeFile(config, 'targets: { staging: 5, production: { tpyo: 1 } }\npromotions: { p: null }\n');
    expect(await said('targets', { config })).toBe('staging\nproduction');
    expect(await said('promotions', { config })).toBe('p');
  });

  it('are empty without a file, or if it is not YAML', async () => {
    const config = join(folder, 'slipway.yaml');
    expect(await said('targets', { config })).toBe('');
    await writeFile(config, 'targets: [');
    expect(await said('targets', { config })).toBe('');
  });

  it('are printed as events with --json, like the script', async () => {
    const config = join(folder, 'slipway.yaml');
    await writeFile(config, 'targets: { staging: {} }');
    const output = testOutput({ json: true });
    const context: CommandContext = { output, home: '/none', environment: {} };
    await runCompletionCommand(context, 'targets', model, { config });
    await runCompletionCommand(context, 'bash', model, {});
    expect(output.events).toEqual([
      { event: 'names', what: 'targets', names: ['staging'] },
      { event: 'completion', shell: 'bash', script: expect.stringContaining('_slipway') },
    ]);
  });

  it('fail for an unknown shell', async () => {
    await expect(said('tcsh')).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: 'one of: bash, zsh, fish',
    });
  });
});
