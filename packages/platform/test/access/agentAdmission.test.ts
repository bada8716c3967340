import { randomUUID } from 'node:crypto';

import { expect, it } from 'vitest';

import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';
import { createLogger } from '../../src/http/logger.ts';
import { startPlatform } from '../../src/platform.ts';
import { openEmbeddedPostgres } from '../../src/store/embeddedPostgres.ts';
import { startDatabaseProxy } from '../databaseProxy.ts';

const home = useFolder();

it('a request to an agent gets a 503 with Retry-After while the database does not answer', async () => {
  await prepareHome(home);
  const database = await openEmbeddedPostgres(home, () => undefined);
  const proxy = await startDatabaseProxy(database.connectionString);
  const log = createLogger({ level: 'silent' });
  const platform = await startPlatform({ home, port: 0, databaseUrl: proxy.url, log });
  proxy.cut();
  const headers = { 'x-api-key': 'a key that is not cached' };
  const answer = await fetch(`${platform.url}/agents/${randomUUID()}/info`, { headers });
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(await answer.json()).toEqual({ detail: expect.stringContaining('database') });
  proxy.repair();
  await platform.close();
  await proxy.close();
  await database.close();
});
