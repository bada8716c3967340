import { type CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';

import { buildProgram } from '../../src/cli/program.ts';

const COMMANDS = [
  ...[
    'dev',
    'demo',
    'release',
    'rollback',
    'status',
    'hold',
    'unhold',
    'doctor',
    'abort',
    'audit',
    'approve',
    'pause',
    'quarantine',
    'reject',
    'resume',
    'retry',
    'skip',
    'unquarantine',
  ],
  ...['worker', 'platform', 'agent', 'temporal'],
];

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
    ).toEqual([...COMMANDS].sort());
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

  it('suggests the command that was meant', async () => {
    expect((await failure('realease')).message).toContain('Did you mean release?');
  });

  it.each([
    [['release', '--timeout', 'soon'], 'Expected a duration'],
    [['release', '--timeout', '0'], 'Expected a duration'],
    [['dev', '--port', '70000'], 'Expected a port'],
    [['status', '--last', '-1'], 'Expected a whole number'],
    [['platform', '--vocabulary', 'private'], 'Allowed choices are contract, public, both'],
    [['agent'], "missing required argument 'dir'"],
    [['release', 'a', 'b'], 'too many arguments'],
  ])('refuses %j', async (args, message) => {
    const error = await failure(...args);
    expect(error.message).toContain(message);
    expect(error.exitCode).toBe(1);
  });
});
