import { join } from 'node:path';

import { Command } from 'commander';
import { afterEach, expect, it, vi } from 'vitest';

import { commandTable } from '../../../src/cli/program/commandTable.ts';

afterEach(() => void vi.unstubAllEnvs());

it.each([
  ['status', ''],
  ['status --config a/slipway.yaml', 'a'],
  ['hooks list --config a/slipway.yaml', 'a'],
  ['hooks --config a/slipway.yaml list', 'a'],
  ['lint', ''],
  ['lint a/slipway.yaml', 'a'],
  ['dashboard --hooks a/slipway.yaml', 'a'],
  ['status --config /dev/stdin', ''],
])('the home of "slipway %s" is beside the file that it reads', async (line, folder) => {
  vi.stubEnv('SLIPWAY_HOME', '');
  let home: string | undefined;
  const program = new Command();
  const { command, fileCommand, runs } = commandTable(program, '1', () => undefined);
  const seen = runs(() =>
    Promise.resolve((context) => {
      ({ home } = context);
      return Promise.resolve(0);
    }),
  );
  fileCommand('status', '').action(seen);
  fileCommand('hooks', '').command('list').option('--config <file>').action(seen);
  command('lint [file]', '').action(seen);
  command('dashboard', '').option('--hooks <file>').action(seen);
  await program.parseAsync(line.split(' '), { from: 'user' });
  expect(home).toBe(join(process.cwd(), folder, '.slipway'));
});
