import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { prepareHome } from '../../../test/support/preparedHome.ts';
import { useFolder } from '../../../test/support/temporaryFolder.ts';
import { createLogger } from '../src/http/logger.ts';
import { startPlatform } from '../src/platform.ts';

const home = useFolder();

it('a platform looks for the containers that it left also after its master key was rotated', async () => {
  await prepareHome(home);
  const calls = join(home, 'calls');
  const dockerCommand = join(home, 'docker');
  await writeFile(dockerCommand, `#!/bin/sh\necho "$@" >> '${calls}'\n`);
  await chmod(dockerCommand, 0o755);
  const log = createLogger({ level: 'silent' });
  const start = () =>
    startPlatform({ home, port: 0, apiKey: 'operator', log, isolation: 'container', dockerCommand });
  const rotated = await start();
  const headers = { 'x-api-key': 'operator' };
  const rotation = await fetch(`${rotated.url}/v1/secrets/rotation`, { method: 'POST', headers });
  expect(rotation.status).toBe(200);
  await rotated.close();
  await (await start()).close();
  const names = (await readFile(calls, 'utf8')).match(/(?<=slipway\.platform=)\S+/gu);
  expect(names?.length).toBeGreaterThan(1);
  expect(new Set(names).size).toBe(1);
});
