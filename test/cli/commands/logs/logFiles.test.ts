import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { logFileLines } from '../../../../src/cli/commands/logs/releaseLog.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

/** A home whose worker has logged this. */
async function homeWith(log: string): Promise<string> {
  const home = await temporaryFolder();
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
