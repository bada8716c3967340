import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { type ControlPlaneClient, createControlPlaneClient } from '../../../src/clients/controlPlane.ts';
import { type DatabaseProxy, startDatabaseProxy } from './databaseProxy.ts';
import { emptyDatabaseUrl } from './testDatabase.ts';
import {
  releaseSimple,
  revisionReaches,
  SIMPLE_PLATFORM,
  simpleSource,
  startByCommand,
} from './simplePlatform.ts';
import { useFolder } from '../../../test/support/temporaryFolder.ts';
import { CREATES } from '../../contract/test/controlPlane/requests.ts';

// Starts processes one after another, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = useFolder();
const home = join(folder, 'home');
let database: pg.Client;
let proxy: DatabaseProxy;
let platform: ChildProcess;
let url: string;
let apiKey: string;
let client: ControlPlaneClient;

/** One deployment with a good serving revision, and a next revision that is stopped at a certain moment. */
class Subject {
  readonly moment: string;
  readonly name: string;
  /** While this file exists, a process that checks for it waits, and creates a file with this name and `.met`. */
  readonly gate: string;
  id = '';
  good = '';
  next: string | undefined;

  constructor(moment: string) {
    this.moment = moment;
    this.name = moment.replaceAll(/[^a-z]+/g, '-');
    this.gate = join(folder, this.name);
  }

  async create(): Promise<void> {
    // The baseline's build and start find no gate.
    const waits = `[ ! -e '${this.gate}-build' ] || { touch '${this.gate}-build.met'; while [ -e '${this.gate}-build' ]; do sleep 0.05; done; }`;
    const { id } = await client.createDeployment({
      ...CREATES.internal_source,
      name: this.name,
      source_config: { install_command: waits },
      secrets: [{ name: 'GATE', value: this.gate }],
    });
    this.id = id;
    this.good = await this.release('good');
    await this.reaches(this.good, 'DEPLOYED');
  }

  release(version: string): Promise<string> {
    return releaseSimple(client, this.id, folder, version);
  }

  reaches(revision: string, status: string): Promise<void> {
    return revisionReaches(client, [this.id, revision], status);
  }

  async ask(path: string): Promise<Response> {
    return fetch(`${url}/agents/${this.id}/${path}`, { headers: { 'x-api-key': apiKey } });
  }

  async serving(): Promise<{ version: string; revision: string | null }> {
    const answer = await this.ask('version');
    return { version: await answer.text(), revision: answer.headers.get('x-slipway-revision-id') };
  }
}

/** A moment of a release, and how to stop a deployment's next revision there. */
interface Moment {
  readonly at: string;
  readonly arrive: (subject: Subject) => Promise<void>;
  /** Whether a revision was requested before the platform was killed. */
  readonly asked: boolean;
}

const MOMENTS: readonly Moment[] = [
  {
    at: 'upload: half of it has arrived',
    asked: false,
    arrive: async (subject) => {
      const { upload_url } = await client.createUploadUrl(subject.id);
      const half = request(upload_url, { method: 'PUT', headers: { 'content-length': '2000000' } });
      half.on('error', () => undefined);
      half.write(Buffer.alloc(1_000_000));
      await vi.waitFor(async () => expect(await readdir(join(home, 'incoming'))).not.toEqual([]), 10_000);
    },
  },
  {
    at: 'upload: it is on the disk, and its row does not say so',
    asked: false,
    arrive: async (subject) => {
      const { upload_url } = await client.createUploadUrl(subject.id);
      const held = proxy.hold('before', 'update "uploads" set "uploaded_at"', subject.id);
      void fetch(upload_url, { method: 'PUT', body: await simpleSource(folder, 'lost') }).catch(
        () => undefined,
      );
      await held;
    },
  },
  {
    at: 'build: a command runs',
    asked: true,
    arrive: async (subject) => {
      await writeFile(`${subject.gate}-build`, '');
      subject.next = await subject.release('next');
      await exists(`${subject.gate}-build.met`);
    },
  },
  {
    at: 'build: it is done, and its row does not say so',
    asked: true,
    arrive: async (subject) => {
      const held = proxy.hold('before', 'update "revisions" set "built_at"', subject.id);
      subject.next = await subject.release('next');
      await held;
    },
  },
  {
    at: 'start: the agent is on its way',
    asked: true,
    arrive: async (subject) => {
      await writeFile(`${subject.gate}-start`, '');
      subject.next = await subject.release('next');
      await exists(`${subject.gate}-start.met`);
    },
  },
  {
    at: 'switch: requests go to the new agent, and no row says so',
    asked: true,
    arrive: async (subject) => {
      const held = proxy.hold('before', 'update "deployments" set "active_revision_id"', subject.id);
      subject.next = await subject.release('next');
      await held;
      expect((await subject.serving()).version).toBe('next');
    },
  },
  {
    at: 'switch: it is committed, and the platform does not know',
    asked: true,
    arrive: async (subject) => {
      const held = proxy.hold(
        'after its commit',
        'update "deployments" set "active_revision_id"',
        subject.id,
      );
      subject.next = await subject.release('next');
      await held;
    },
  },
  {
    at: 'drain: the old agent still has a request',
    asked: true,
    arrive: async (subject) => {
      await writeFile(`${subject.gate}-request`, '');
      void subject.ask('wait').catch(() => undefined);
      await exists(`${subject.gate}-request.met`);
      subject.next = await subject.release('next');
      await subject.reaches(subject.next, 'DEPLOYED');
    },
  },
];

const subjects: Subject[] = [];

beforeAll(async () => {
  await mkdir(home);
  const databaseUrl = (await emptyDatabaseUrl()) ?? '';
  database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  proxy = await startDatabaseProxy(databaseUrl);
  await start();
  subjects.push(...MOMENTS.map(({ at }) => new Subject(at)));
  await Promise.all(subjects.map((subject) => subject.create()));
  // One at a time: a hold belongs to the moment that waits for it.
  for (const [index, { arrive }] of MOMENTS.entries()) await arrive(subjects[index]!);
  platform.kill('SIGKILL');
  await once(platform, 'exit');
});

afterAll(async () => {
  if (platform.exitCode === null && platform.signalCode === null) {
    platform.kill('SIGKILL');
    await once(platform, 'exit');
  }
  await client.close();
  await proxy.close();
  await database.end();
  await vi.waitFor(async () => expect(await groupsIn(home)).toEqual([]), { timeout: 20_000 });
});

describe('a platform that is killed at every moment of a release', () => {
  it('leaves no process behind', async () => {
    await vi.waitFor(async () => expect(await groupsIn(home)).toEqual([]), { timeout: 20_000, interval: 50 });
  });

  it('restarts, and has nothing half written', async () => {
    await open(MOMENTS.map((_, index) => subjects[index]!.gate));
    await start();
    expect(await readdir(join(home, 'incoming'))).toEqual([]);
    const { rows } = await database.query<{ object_path: string; sha256: string | null }>(
      'select object_path, sha256 from uploads where uploaded_at is not null',
    );
    expect(rows.length).toBeGreaterThanOrEqual(MOMENTS.length);
    for (const { object_path, sha256 } of rows) {
      const content = await readFile(join(home, 'objects', object_path));
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
  });

  it.each(MOMENTS.map(({ at }, index) => [at, index] as const))('%s', async (_, index) => {
    const subject = subjects[index]!;
    const { asked } = MOMENTS[index]!;
    if (asked) {
      // It continues where it was, and is completed.
      await subject.reaches(subject.next ?? '', 'DEPLOYED');
    } else {
      // No revision was requested: the old one still serves, and the upload can be repeated.
      expect(await subject.serving()).toEqual({ version: 'good', revision: subject.good });
      subject.next = await subject.release('next');
      await subject.reaches(subject.next, 'DEPLOYED');
    }
    expect(await subject.serving()).toEqual({ version: 'next', revision: subject.next });
    const deployment = await client.getDeployment(subject.id);
    expect(deployment).toMatchObject({
      active_revision_id: subject.next,
      latest_revision_id: subject.next,
      status: 'READY',
    });
    expect((await client.listRevisions(subject.id, {})).resources).toHaveLength(3);
  });

  it('keeps the new agent if only the answer to the committed switch is lost', async () => {
    const subject = new Subject('switch: its answer is lost');
    await subject.create();
    const held = proxy.hold('after its commit', 'update "deployments" set "active_revision_id"', subject.id);
    subject.next = await subject.release('next');
    await held;
    proxy.cut();
    proxy.repair();
    await vi.waitFor(async () => expect(await groupsIn(home)).toHaveLength(subjects.length + 1), 40_000);
    expect(await subject.serving()).toEqual({ version: 'next', revision: subject.next });
    subjects.push(subject);
  });

  it.runIf(process.platform === 'linux')('runs exactly one agent for each deployment', async () => {
    await vi.waitFor(async () => expect(await groupsIn(home)).toHaveLength(subjects.length), {
      timeout: 40_000,
      interval: 100,
    });
  });
});

async function start(): Promise<void> {
  const started = await startByCommand([process.execPath, ...SIMPLE_PLATFORM, home, proxy.url]);
  platform = started.child;
  ({ url = '', apiKey = '' } = started.ready);
  client = createControlPlaneClient({ baseUrl: url, apiKey });
}

async function open(gates: readonly string[]): Promise<void> {
  for (const gate of gates) {
    for (const what of ['build', 'start', 'request']) await rm(`${gate}-${what}`, { force: true });
  }
}

async function exists(path: string): Promise<void> {
  await vi.waitFor(() => access(path), { timeout: 60_000, interval: 20 });
}

/** The process groups that work in a folder; none except on Linux. */
async function groupsIn(directory: string): Promise<string[]> {
  const groups = new Set<string>();
  for (const pid of await readdir('/proc').catch(() => [])) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (!cwd.startsWith(directory)) continue;
    // The name, in parentheses, may contain anything; the process group is the third field after it.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    groups.add(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] ?? '');
  }
  return [...groups];
}
