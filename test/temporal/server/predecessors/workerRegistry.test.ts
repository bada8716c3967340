import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

import { afterEach, beforeEach, expect, it } from 'vitest';

import {
  isInstance,
  joinWorkers,
  workerIdentity,
  type WorkerRegistry,
} from '../../../../src/temporal/server/predecessors/workerRegistry.ts';
import { FROM_SOURCE } from '../../../support/fromSource.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

const SETTINGS = { namespace: 'default', taskQueue: 'slipway' };

let home: string;
const joined: WorkerRegistry[] = [];
beforeEach(async () => (home = await temporaryFolder()));
afterEach(async () => {
  await Promise.all(joined.splice(0).map((worker) => worker.leave()));
});

async function worker(settings = SETTINGS): Promise<WorkerRegistry> {
  const registry = await joinWorkers(home, settings);
  joined.push(registry);
  return registry;
}

/** Registers a process as a worker, then kills it. @returns its identity. */
async function killedWorker(settings = SETTINGS): Promise<string> {
  const module = pathToFileURL(
    join(process.cwd(), 'src/temporal/server/predecessors/workerRegistry.ts'),
  ).href;
  const code = `import { joinWorkers } from ${JSON.stringify(module)};
    const { identity } = await joinWorkers(${JSON.stringify(home)}, ${JSON.stringify(settings)});
    console.log(identity);
    setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, [...FROM_SOURCE, '--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [identity] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return identity;
}

it('a killed worker is distinguished from running ones, until it is forgotten', async () => {
  const alive = await worker();
  const identity = await killedWorker();
  const next = await worker();
  const killed = await next.killed();
  expect(killed).toHaveLength(1);
  expect(isInstance(identity, killed[0]!)).toBe(true);
  expect(await alive.killed()).toEqual(killed);
  await next.forget(killed[0]!);
  expect(await next.killed()).toEqual([]);
});

it('a worker that has ended normally leaves nothing', async () => {
  await (await joinWorkers(home, SETTINGS)).leave();
  expect(await readdir(join(home, 'workers'))).toEqual([]);
});

it('workers of another task queue, and of another machine that shares the home, are ignored', async () => {
  const elsewhere = await killedWorker({ namespace: 'default', taskQueue: 'another' });
  const mine = await worker();
  const [name] = (await readdir(join(home, 'workers'))).filter((file) =>
    isInstance(mine.identity, file.slice(-12)),
  );
  const [queue] = name!.split('-');
  await writeFile(join(home, 'workers', `${queue!}-00000000-0123456789ab`), '');
  expect(await mine.killed()).toEqual([]);
  expect(elsewhere).not.toBe(mine.identity);
});

it('two workers of one process have two identities', () => {
  expect(workerIdentity()).not.toBe(workerIdentity());
});

it('a home whose path is too long for a socket is refused, because Node would cut the path', async () => {
  home = join(home, 'h'.repeat(110));
  await expect(worker()).rejects.toThrow(/is too long for a socket/u);
});
