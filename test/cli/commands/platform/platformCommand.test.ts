import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { getRequestListener } from '@hono/node-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { listen, type Listening } from '../../../../packages/platform/src/http/listen.ts';
import { TestPlatform } from '../../../../packages/platform/test/controlPlane/testPlatform.ts';
import {
  runPlatformAuditCommand,
  runKeysCreateCommand,
  runKeysListCommand,
  runKeysRevokeCommand,
  runSecretsRotateCommand,
} from '../../../../src/cli/commands/platform/access.ts';
import { prepareHome } from '../../../support/preparedHome.ts';
import { runPlatformCommand } from '../../../../src/cli/commands/platform/platform.ts';
import { useFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

let platform: TestPlatform;
let listening: Listening;
const home = useFolder();

beforeAll(async () => {
  platform = await TestPlatform.open();
  const handle = getRequestListener(platform.app.fetch);
  listening = await listen((request, response) => void handle(request, response), { port: 0 });
  await prepareHome(home);
  await writeFile(join(home, 'api.key'), 'test-key\n');
});

afterAll(async () => {
  await listening.close(0);
  await platform.close();
});

const contextOf = (json = true) => {
  const output = testOutput({ json });
  return { output, home, environment: {} };
};

it('a platform whose home cannot be written names the home', async () => {
  const file = join(home, 'file');
  await writeFile(file, '');
  await expect(runPlatformCommand({ ...contextOf(), home: file }, { port: 0 })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
    place: file,
  });
});

describe('the commands that ask a running platform', () => {
  it('create a valid key, list it without the key, and revoke it', async () => {
    const making = contextOf();
    const tenant = '0b9e2f7c-7d5e-4f4e-8a53-111111111111';
    const where = { url: listening.url, tenant };
    await runKeysCreateCommand(making, 'release job', { ...where, scope: 'deploy', expiresIn: 3_600_000 });
    const [made] = making.output.events;
    expect(made).toMatchObject({ event: 'key', scope: 'deploy', tenant_ids: [tenant] });
    const key = String(made?.['key']);
    const list = async (): Promise<number> =>
      (await fetch(`${listening.url}/v2/deployments`, { headers: { 'x-api-key': key } })).status;
    expect(await list()).toBe(200);

    const listing = contextOf();
    await runKeysListCommand(listing, where);
    expect(listing.output.events).toMatchObject([{ event: 'key', id: made?.['id'], name: 'release job' }]);
    expect(JSON.stringify(listing.output.events)).not.toContain(key);

    const revoking = contextOf();
    await runKeysRevokeCommand(revoking, String(made?.['id']), where);
    expect(revoking.output.events).toEqual([{ event: 'key_revoked', id: made?.['id'] }]);
    expect(await list()).toBe(403);

    const audit = contextOf();
    await runPlatformAuditCommand(audit, { ...where, last: 10 });
    expect(audit.output.events).toMatchObject([
      { event: 'change', operation: 'revokeApiKey', key_name: 'operator' },
      { event: 'change', operation: 'createApiKey', changed: ['name', 'scope', 'expires_at'] },
    ]);
  });

  it('rotate the master key, and every secret stays readable', async () => {
    const secrets = [{ name: 'TOKEN', value: 'hunter2' }];
    const id = await platform.create('rotated', { secrets });
    const context = contextOf();
    await runSecretsRotateCommand(context, { url: listening.url });
    // The deployment's secret, and its first revision's copy.
    expect(context.output.events).toEqual([{ event: 'secrets_rotated', resealed: 2 }]);
    expect((await platform.deployment(id)).secrets).toEqual(secrets);
  });

  it('print the key, and nothing else on stdout', async () => {
    const context = contextOf(false);
    await runKeysCreateCommand(context, 'for people', { url: listening.url, scope: 'read' });
    expect(context.output.said).toEqual([expect.stringMatching(/^slipway_[\w-]{43}$/)]);
    expect(context.output.noted.join()).toContain('not shown again');
  });
});
