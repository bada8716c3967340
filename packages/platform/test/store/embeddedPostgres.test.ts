import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/store/embeddedPostgres.ts';
import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { temporaryFolder, useFolder } from '../../../../test/support/temporaryFolder.ts';

const DATA_DIRECTORY = new URL('../../src/store/dataDirectory.ts', import.meta.url).href;

const home = useFolder();
let database: EmbeddedPostgres;
let thread: Worker;
const troubles: Error[] = [];

const open = async (): Promise<void> => {
  const started = once(process, 'worker');
  database = await openEmbeddedPostgres(home, (error) => void troubles.push(error));
  [thread] = (await started) as [Worker];
};

beforeAll(async () => {
  await prepareHome(home);
  await open();
});

afterAll(() => database.close());

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('the embedded database', () => {
  it('belongs to one process at a time', async () => {
    await expect(openEmbeddedPostgres(home, () => undefined)).rejects.toMatchObject({
      code: 'SLIPWAY_HOME_IN_USE',
    });
  });

  it('does not block its process during a long query', async () => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const before = performance.now();
    expect(await query('select count(*) from generate_series(1, 3000000)')).toEqual([{ count: '3000000' }]);
    const tookMs = performance.now() - before;
    delay.disable();
    // If the query ran in this thread, it would block the event loop.
    expect(delay.max / 1e6).toBeLessThan(tookMs / 2);
  });

  it('is opened again at the same address after a crash, with all committed data, and reports it', async () => {
    await query('create table kept (n int)');
    await query('insert into kept values (1)');
    const next = once(process, 'worker');
    await thread.terminate();
    [thread] = (await next) as [Worker];
    await vi.waitFor(async () => expect(await query('select n from kept')).toEqual([{ n: 1 }]), {
      timeout: 20_000,
      interval: 50,
    });
    expect(troubles.map((error) => error.message)).toContain(
      'The embedded database crashed, and is opened again.',
    );
  });

  it('survives a kill while it is created by a child process', async () => {
    const other = await temporaryFolder();
    const create = `const { createDataDirectory } = await import('${DATA_DIRECTORY}');
      await createDataDirectory('${join(other, 'postgres')}');`;
    const args = [...FROM_SOURCE, '--input-type=module', '--eval', create];
    const child = spawn(process.execPath, args, { detached: true });
    await vi.waitFor(async () => expect(await readdir(other)).toHaveLength(2), 20_000);
    process.kill(-child.pid!, 'SIGKILL');
    await once(child, 'exit');

    const initializing: ChildProcess[] = [];
    const onStart = (message: unknown) => initializing.push((message as { process: ChildProcess }).process);
    let endedWith: unknown;
    process.once('worker', () => (endedWith = initializing.map(({ exitCode }) => exitCode)));
    subscribe('child_process', onStart);
    const opened = await openEmbeddedPostgres(other, () => undefined);
    unsubscribe('child_process', onStart);
    await opened.close();
    expect(endedWith).toEqual([0]);
    expect(await readdir(other)).toEqual(['postgres']);
  });

  it('that cannot be opened is an error with a code, and leaves no files', async () => {
    const other = await temporaryFolder();
    await writeFile(join(other, 'postgres'), 'not a directory');
    const failing = openEmbeddedPostgres(other, () => undefined);
    await expect(failing).rejects.toMatchObject({
      code: 'SLIPWAY_DATABASE_UNREACHABLE',
      place: join(other, 'postgres'),
    });
    await rm(join(other, 'postgres'));
    await prepareHome(other);
    await (await openEmbeddedPostgres(other, () => undefined)).close();
  });
});
