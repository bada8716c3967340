import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Command, CommanderError } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { expiryOption } from '../../../src/cli/program/options.ts';
import { buildProgram, versionText } from '../../../src/cli/program/program.ts';

const COMMANDS = (
  'abort agent approve audit check codec completion dashboard demo dev doctor history hold hooks init judge lint login logout logs pack pause plan platform ' +
  'preview promote prune quarantine rehearse reject release resume retry rollback schedule show skip status temporal unhold ' +
  'unquarantine watch worker'
).split(' ');

function program() {
  return buildProgram({ version: '1.2.3', onExit: () => undefined });
}

async function failure(...args: string[]): Promise<CommanderError> {
  try {
    await program().parseAsync(args, { from: 'user' });
  } catch (error) {
    return error as CommanderError;
  }
  throw new Error('it was understood');
}

describe('the command line', () => {
  it('has every command', () => {
    expect(
      program()
        .commands.map((command) => command.name())
        .sort(),
    ).toEqual(COMMANDS);
  });

  it('lists the exit codes in its help', () => {
    let text = '';
    const listing = program().configureOutput({ writeOut: (part) => (text += part) });
    listing.outputHelp();
    for (const code of [0, 1, 2, 3, 4, 5, 6]) expect(text).toMatch(new RegExp(`^ {2}${code} {2}`, 'm'));
  });

  it.each(COMMANDS.filter((name) => name !== 'temporal'))('shows an example of %s in its help', (name) => {
    let text = '';
    const command = program().commands.find((candidate) => candidate.name() === name)!;
    command.configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    expect(text).toMatch(new RegExp(`\\$ .*slipway ${name}`));
    expect(text).toContain('--json');
  });

  it('takes the options of every command at each of them, or at the command above it', () => {
    const without = (command: Command, above: readonly string[] = []): readonly string[] => {
      const known = [...above, ...command.options.map(({ long }) => long ?? '')];
      if (command.commands.length > 0) return command.commands.flatMap((each) => without(each, known));
      return ['--json', '--quiet', '--verbose', '--home'].every((option) => known.includes(option))
        ? []
        : [command.name()];
    };
    expect(without(program())).toEqual([]);
  });

  it.each([
    [['release', '--timeout', 'soon'], 'Expected a duration'],
    [['release', '--timeout', '0'], 'Expected a duration'],
    [['release', '--timeout', '31d'], '30 days at most'],
    [['dev', '--port', '70000'], 'Expected a whole number'],
    [['status', '--last', '-1'], 'Expected a whole number'],
    [['platform', '--vocabulary', 'private'], 'Allowed choices are contract, public, both'],
    [['platform', 'keys', 'create', 'x', '--scope', 'root'], 'Allowed choices are read, deploy, admin'],
    [['platform', 'audit', '--last', '101'], 'Expected a whole number from 1 to 100'],
    [['plan', 'production'], 'Allowed choices are release, promotion'],
    [['agent'], "missing required argument 'dir'"],
    [['release', 'a', 'b'], 'too many arguments'],
    [['rollback', '--to', ''], "option '--to <revision>' has an empty value"],
    [['prune', '--forget', 'staging', ''], "option '--forget <target...>' has an empty value"],
    [['agent', ''], "argument 'dir' is empty"],
    [['worker', 'rollout', '', '--current'], "argument 'version' is empty"],
    [['abort', '--promotion', 'nightly', '--release', 'release-1'], 'cannot be used with option'],
  ])('rejects %j', async (args, message) => {
    const error = await failure(...args);
    expect(error.message).toContain(message);
    expect(error.exitCode).toBe(1);
  });
});

it('a key of the platform may be valid for a year', () => {
  expect(expiryOption('365d')).toBe(365 * 86_400_000);
});

it('an empty variable of an option counts as not set', async () => {
  vi.stubEnv('SLIPWAY_ISOLATION', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect((await failure('dev', 'now')).message).toContain('too many arguments');
});

it('an empty word is one that completion may complete', async () => {
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => printed.mockRestore());
  await program().parseAsync(['completion', 'words', '--', 'platform', ''], { from: 'user' });
  expect(printed).toHaveBeenCalledWith(expect.stringMatching(/^keys\t/));
});

function place(content?: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'build.json');
  if (content !== undefined) writeFileSync(file, content);
  return pathToFileURL(file);
}

it.each([
  ['{"commit":"0123456789ab","bundle":"ba9876543210"}', '0.1.0 (commit 0123456789ab, bundle ba9876543210)'],
  ['{"commit":null,"bundle":"ba9876543210"}', '0.1.0 (bundle ba9876543210)'],
  [undefined, '0.1.0'],
])('the version of a build with %s is %s', (content, text) => {
  expect(versionText('0.1.0', place(content))).toBe(text);
});
