import { join } from 'node:path';

import { expect, it } from 'vitest';

import { startDevServer } from '../../../src/temporal/server/devServer.ts';
import { freePort } from '../../support/listen.ts';
import { temporaryFolder, writeExecutable } from '../../support/temporaryFolder.ts';

it('gives Temporal the name of its database in its folder, because Temporal reads # and % in a path', async () => {
  const folder = await temporaryFolder();
  const executable = join(folder, 'temporal');
  await writeExecutable(executable, '#!/bin/sh\npwd\necho "$@"\nexit 1\n');
  const home = join(folder, 'agent #1 %20');
  const port = await freePort();
  const databaseFile = join(home, 'temporal.db');
  await expect(startDevServer({ executable, databaseFile, port, uiPort: port })).rejects.toThrow(
    new RegExp(`its output:\n${home}\n.* --db-filename temporal\\.db `, 'u'),
  );
});
