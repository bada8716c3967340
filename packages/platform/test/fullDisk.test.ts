import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { type ControlPlaneClient, createControlPlaneClient } from '../../../src/clients/controlPlane.ts';
import { QUICK_START } from '../../../test/support/quickStart.ts';
import { releaseSimple, revisionReaches, SIMPLE_PLATFORM, startByCommand } from './simplePlatform.ts';
import { CREATES } from '../../contract/test/controlPlane/requests.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Mounts a disk that only the platform's process sees. Not every system allows it. */
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0;

let folder: string;
let files: string;
let platform: ChildProcess;
let url: string;
let apiKey: string;
let client: ControlPlaneClient;
let id: string;

describe.skipIf(!canMount)('a platform on a full disk', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'slipway-full-'));
    const home = join(folder, 'home');
    await mkdir(home);
    const mounted = 'mount -t tmpfs -o size=160m tmpfs "$1" && shift && exec "$@"';
    const command = [process.execPath, ...QUICK_START, ...SIMPLE_PLATFORM, home];
    const started = await startByCommand(['unshare', '-rm', 'sh', '-c', mounted, 'sh', home, ...command]);
    platform = started.child;
    ({ url = '', apiKey = '' } = started.ready);
    files = join(`/proc/${started.ready['pid']}/root`, home);
    client = createControlPlaneClient({ baseUrl: url, apiKey });
    const fill = 'if [ -e fill ]; then head -c 400000000 /dev/zero > big; fi';
    ({ id } = await client.createDeployment({
      ...CREATES.internal_source,
      name: 'full',
      source_config: { install_command: fill },
    }));
    await reaches(await release('good'), 'DEPLOYED');
  });

  afterAll(async () => {
    platform.kill('SIGKILL');
    await once(platform, 'exit');
    await client.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('answers an upload that does not fit with 507, and keeps nothing of it', async () => {
    const { upload_url } = await client.createUploadUrl(id);
    const answer = await fetch(upload_url, { method: 'PUT', body: new Uint8Array(190_000_000) });
    expect(answer.status).toBe(507);
    expect(await answer.json()).toEqual({ detail: 'The disk of this platform is full.' });
    await vi.waitFor(async () => expect(await readdir(join(files, 'incoming'))).toEqual([]), 10_000);
  });

  it('fails a build that fills it with that reason, continues to serve, and builds the next', async () => {
    const filling = await release('filling', { fill: '' });
    await reaches(filling, 'BUILD_FAILED');
    expect((await client.getRevision(id, filling)).status_message).toContain('disk');
    expect(await said()).toBe('good');
    const next = await release('next');
    await reaches(next, 'DEPLOYED');
    expect(await said()).toBe('next');
  });
});

async function said(): Promise<string> {
  const answer = await fetch(`${url}/agents/${id}/version`, { headers: { 'x-api-key': apiKey } });
  return answer.text();
}

const release = (version: string, more?: Record<string, string>): Promise<string> =>
  releaseSimple(client, id, folder, version, more);

const reaches = (revision: string, status: string): Promise<void> =>
  revisionReaches(client, [id, revision], status);
