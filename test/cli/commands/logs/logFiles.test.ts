import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, expect, it } from 'vitest';

import { logFileLines } from '../../../../src/cli/commands/logs/logFiles.ts';

const folders: string[] = [];

afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

/** A home whose worker has logged this. */
async function homeWith(log: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'slipway-logs-'));
  folders.push(home);
  await mkdir(join(home, 'logs'));
  await writeFile(join(home, 'logs', 'worker.log'), log);
  return home;
}

it('a line separator within a logged text does not end its line', async () => {
  const line = { time: '2026-11-26T10:00:00.000Z', msg: 'the agent answered "one\u2028two"', release: 'r-1' };
  const home = await homeWith(`${JSON.stringify(line)}\nno JSON about r-1\n{"msg":"another release"}\n`);
  expect(await logFileLines(home, 'worker', ['r-1'])).toEqual([
    { message: line.msg, timestamp: line.time, revisionId: null },
    { message: 'no JSON about r-1', timestamp: null, revisionId: null },
  ]);
});
