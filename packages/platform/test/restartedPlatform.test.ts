import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { startPlatform } from '../src/platform.ts';
import { prepareHome } from '../../../test/support/preparedHome.ts';
import { temporaryFolder } from '../../../test/support/temporaryFolder.ts';
import { CREATES } from '../../contract/test/controlPlane/requests.ts';

it('a restarted platform knows its deployments from its first answer on', async () => {
  const folder = await temporaryFolder();
  const home = join(folder, 'home');
  await prepareHome(home);
  const before = await startPlatform({ home, port: 0 });
  const headers = { 'x-api-key': before.apiKey, 'content-type': 'application/json' };
  const created = await fetch(`${before.url}/v2/deployments`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...CREATES.internal_source, name: 'restarted' }),
  });
  const { id } = (await created.json()) as { id: string };
  await before.close();
  // The start waits for the container engine before it restarts any agent.
  const [engine, asked, answers] = ['engine', 'asked', 'answers'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(engine, `#!/bin/sh\ntouch ${asked}\nuntil [ -e ${answers} ]; do sleep 0.05; done\n`);
  await chmod(engine, 0o755);
  const port = Number(new URL(before.url).port);
  const starting = startPlatform({ home, port, isolation: 'container', dockerCommand: engine });
  await vi.waitFor(() => stat(asked), { timeout: 20_000 });
  const answer = await fetch(`${before.url}/agents/${id}/threads`, { method: 'POST', headers, body: '{}' });
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 503,
    body: { detail: `Deployment ID ${id} has no active revision.` },
  });
  await writeFile(answers, '');
  await (await starting).close();
});
