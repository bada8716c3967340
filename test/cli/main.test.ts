import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { temporaryFolder, writeFiles } from '../support/temporaryFolder.ts';

const BIN = fileURLToPath(new URL('../../bin/slipway.js', import.meta.url));

it.each([
  [['release', '--bogus'], "unknown option '--bogus'", 'See: slipway release --help'],
  [['release', '--strct'], "unknown option '--strct'", 'Did you mean --strict? See: slipway release --help'],
  [['temporal', 'instal'], "unknown command 'instal'", 'Did you mean install? See: slipway temporal --help'],
  [
    ['release', '--timeout', '5x'],
    "option '--timeout <duration>' argument '5x' is invalid. Expected a duration such as 90s, 5m or 1h30m, 30 days at most",
    'See: slipway release --help',
  ],
  [
    ['schedule', 'aply'],
    "'aply' is invalid for argument 'what'. Allowed choices are apply, list, pause, resume, trigger",
    'See: slipway schedule --help',
  ],
  [['help', 'relese'], "unknown command 'relese'", 'Did you mean release? See: slipway --help'],
  [['relese', '--help'], "unknown command 'relese'", 'Did you mean release? See: slipway --help'],
  [
    ['temporal', 'instal', '-h'],
    "unknown command 'instal'",
    'Did you mean install? See: slipway temporal --help',
  ],
  [['relese'], "unknown command 'relese'", 'Did you mean release? See: slipway --help'],
])('a command line such as %j fails with the help of its own command', async (words, message, hint) => {
  const command = spawn(process.execPath, [BIN, ...words, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = await text(command.stdout);
  expect(JSON.parse(said)).toMatchObject({
    event: 'error',
    code: 'SLIPWAY_USAGE',
    exitCode: 1,
    message,
    hint,
  });
});

it('a command in a folder that was removed says so, without a stack', async () => {
  const folder = await temporaryFolder();
  const leave = `cd "${folder}" && rmdir "${folder}" && exec "${process.execPath}" "${BIN}" lint`;
  const command = spawn('sh', ['-c', leave], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = text(command.stderr);
  expect(await once(command, 'exit')).toEqual([1, null]);
  expect(await said).toMatch(
    /^error SLIPWAY_USAGE: the working folder .*\n.*cd .*\n +docs\/errors\.md#slipway_usage\n$/,
  );
});

it('a command whose reader is gone exits 141, without an error', async () => {
  const command = spawn(process.execPath, [BIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  command.stdout.destroy();
  const said = text(command.stderr);
  expect(await once(command, 'exit')).toEqual([141, null]);
  expect(await said).toBe('');
});

describe('a command that packs leaves no temporary files', () => {
  it('if the reader of its output is gone', async () => {
    const { command, packing } = await startPacking();
    command.stdout.destroy();
    expect(await once(command, 'exit')).toEqual([141, null]);
    expect(await packing()).toEqual([]);
  });

  it('if its terminal is closed', async () => {
    const { command, packing } = await startPacking(150_000_000);
    await expect.poll(packing).toHaveLength(1);
    command.kill('SIGHUP');
    expect(await once(command, 'exit')).toEqual([129, null]);
    expect(await packing()).toEqual([]);
  });
});

async function startPacking(bytes = 0) {
  const [project, temporary] = [await temporaryFolder(), await temporaryFolder()];
  const target = '{ controlPlane: "http://localhost:1", apiKey: { from: "env:KEY" }, deployment: a }';
  await writeFiles(project, { 'slipway.yaml': `targets: { a: ${target} }\n`, 'model.bin': '' });
  await truncate(join(project, 'model.bin'), bytes);
  const command = spawn(process.execPath, [BIN, 'pack'], {
    cwd: project,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Node keeps compiled code there.
  const packing = async () => (await readdir(temporary)).filter((name) => name.startsWith('slipway-'));
  return { command, packing };
}

it('a command whose output finds no space reports it, without a stack', async () => {
  const full = openSync('/dev/full', 'w');
  const command = spawn(process.execPath, [BIN, '--help'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const said = text(command.stderr!);
  expect(await once(command, 'exit')).toEqual([1, null]);
  expect(await said).toMatch(
    /^error SLIPWAY_DISK_FULL: .*\n.*TMPDIR.*\n +docs\/errors\.md#slipway_disk_full\n$/,
  );
});

it('a worker whose Temporal rejects connections exits 6', async () => {
  const command = spawn(process.execPath, [BIN, 'worker', '--json'], {
    env: { ...process.env, TEMPORAL_ADDRESS: '127.0.0.1:1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(command, 'exit');
  expect(JSON.parse(await text(command.stdout))).toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
  expect(await ended).toEqual([6, null]);
});
