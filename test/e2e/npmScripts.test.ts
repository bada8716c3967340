import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('the scripts that install Temporal use a configured one', async () => {
  const env = { ...process.env, TEMPORAL_ADDRESS: 'temporal.test:7233' };
  const printed = await promisify(execFile)('npm', ['run', '--silent', 'temporal:install'], {
    cwd: ROOT,
    env,
  });
  expect(printed.stdout).toContain('using the Temporal at temporal.test:7233: nothing to install');
});
