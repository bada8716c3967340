import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/slipway.js', import.meta.url));

it('a command whose reader has gone ends with 141, and says nothing of it', async () => {
  const command = spawn(process.execPath, [BIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  command.stdout.destroy();
  const said = text(command.stderr);
  expect(await once(command, 'exit')).toEqual([141, null]);
  expect(await said).toBe('');
});
