/* eslint-disable @typescript-eslint/no-explicit-any -- answers are judged by what the tests expect of them */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';

import type { Database } from '../../src/store/database.ts';
import { openEmbeddedPostgres } from '../../src/store/embeddedPostgres.ts';
import { type AgentUnderTest, apiOf, startAgentUnderTest, until } from './agentUnderTest.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

export const DURABLE_AGENT = fileURLToPath(new URL('fixtures/durable', import.meta.url));

/** How long to wait for many runs on a busy machine, in milliseconds. */
export const PATIENCE_MS = 120_000;

/** A node's line in the diary: which run, what, in which process. */
export interface DiaryLine {
  readonly name: string;
  readonly what: string;
  readonly pid: number;
}

type OpenDatabase = (home: string) => Promise<Pick<Database, 'connectionString' | 'close'>>;

const openEmbedded: OpenDatabase = async (home) => {
  await prepareHome(home);
  return openEmbeddedPostgres(home, () => undefined);
};

/**
 * Agent processes that share a database, like the revisions of a deployment. Each file has its own database.
 * @param agentDir - the default agent.
 * @param open - opens the database in an empty folder. Default: the embedded one.
 */
export function useAgentProcesses(agentDir: string, open: OpenDatabase = openEmbedded) {
  const home = useFolder();
  let database: Awaited<ReturnType<OpenDatabase>>;
  let pool: pg.Pool;
  const started: AgentUnderTest[] = [];

  beforeAll(async () => {
    database = await open(home);
    pool = new pg.Pool({ connectionString: database.connectionString, max: 2 });
    // The database reports its end on connections that are being closed.
    pool.on('error', () => undefined);
  }, PATIENCE_MS);

  afterAll(async () => {
    for (const { child } of started) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    await Promise.all(started.map(({ exited }) => exited));
    await pool.end();
    await database.close();
  });

  const start = async (deployment: string, env: Record<string, string> = {}, dir = agentDir) => {
    const agent = await startAgentUnderTest({
      dir,
      env: {
        SLIPWAY_AGENT_DATABASE_URL: database.connectionString,
        SLIPWAY_AGENT_DEPLOYMENT_ID: deployment,
        ...env,
      },
    });
    started.push(agent);
    const kill = () => {
      agent.child.kill('SIGKILL');
      return agent.exited;
    };
    return { ...agent, pid: agent.child.pid ?? 0, api: apiOf(agent.url), kill };
  };

  return {
    start,
    databaseUrl: () => database.connectionString,
    folder: () => home,
    query: async (sql: string, values: unknown[] = []): Promise<any[]> =>
      (await pool.query<Record<string, unknown>>(sql, values)).rows,
    scene: () => sceneIn(home),
    /** A run of `work` in a process of {@link DURABLE_AGENT}. Its node "slow" has begun. */
    runningIn: async ({ api }: { api: ReturnType<typeof apiOf> }) => {
      const scene = sceneIn(home);
      const thread = await api.thread();
      const path = `/threads/${thread}/runs`;
      const { run_id: id } = await api.create(thread, { assistant_id: 'work', input: scene.input('x') });
      await scene.untilNoted('slow-begun', 1);
      return { scene, thread, path, id, run: `${path}/${id}` };
    },
  };
}

export type AgentProcess = Awaited<ReturnType<ReturnType<typeof useAgentProcesses>['start']>>;

/** The files to which a test's nodes write, and the gate at which they wait. */
export function sceneIn(folder: string) {
  const place = join(folder, crypto.randomUUID());
  const diary = `${place}.diary`;
  const gate = `${place}.gate`;
  const lines = (): DiaryLine[] =>
    (existsSync(diary) ? readFileSync(diary, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [name = '', what = '', pid] = line.split(' ');
        return { name, what, pid: Number(pid) };
      });
  return {
    input: (name: string) => ({ name, diary, gate }),
    lines,
    count: (what: string) => lines().filter((line) => line.what === what).length,
    open: () => writeFile(gate, ''),
    untilNoted: (what: string, times: number) =>
      until(
        () => Promise.resolve(lines().filter((line) => line.what === what).length >= times),
        `"${what}" is noted ${times} times`,
        PATIENCE_MS,
      ),
  };
}

/** How often each thing was done for each run: `{run: {what: times}}`. */
export function timesByRun(lines: readonly DiaryLine[]): Record<string, Record<string, number>> {
  const times: Record<string, Record<string, number>> = {};
  for (const { name, what } of lines) {
    const ofRun = (times[name] ??= {});
    ofRun[what] = (ofRun[what] ?? 0) + 1;
  }
  return times;
}
