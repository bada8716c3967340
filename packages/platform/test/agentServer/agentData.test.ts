import { randomUUID } from 'node:crypto';

import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { removeAgentData } from '../../src/agentServer/store/agentData.ts';
import { type AgentDatabase, openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { AssistantStore } from '../../src/agentServer/store/assistantStore.ts';
import { CheckpointStore } from '../../src/agentServer/store/checkpointStore.ts';
import { ProcessStore } from '../../src/agentServer/store/processStore.ts';
import { RunEnds } from '../../src/agentServer/store/runEnds.ts';
import { RunStore } from '../../src/agentServer/store/runStore.ts';
import { ThreadStore } from '../../src/agentServer/store/threadStore.ts';
import { openTestDatabase, useTestDatabase } from '../testDatabase.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';

const TABLES = [
  'slipway_agent.threads',
  'slipway_agent.runs',
  'slipway_agent.processes',
  'slipway_agent.assistants',
  'slipway_agent.assistant_versions',
  'slipway_checkpoints.checkpoints',
  'slipway_checkpoints.checkpoint_blobs',
  'slipway_checkpoints.checkpoint_writes',
  'slipway_checkpoints.writes_before_run',
];

/** A deployment with a row in every table: a running run on a thread with a checkpoint, and what was pending there. */
async function fill(agents: AgentDatabase, deploymentId: string) {
  const threads = new ThreadStore({ db: agents.kysely, deploymentId });
  const threadId = randomUUID();
  await threads.create({ threadId, metadata: {}, ifExists: 'raise' });
  const processes = new ProcessStore({ db: agents.kysely, deploymentId, leaseMs: 1_000 });
  await processes.heartbeat();
  await new AssistantStore({ db: agents.kysely, deploymentId }).create(
    { graph_id: 'g', name: 'n', description: null, config: {}, context: {}, metadata: {} },
    { ifExists: 'raise' },
  );
  const run = await agents.kysely
    .insertInto('slipway_agent.runs')
    .values({
      run_id: randomUUID(),
      deployment_id: deploymentId,
      thread_id: threadId,
      assistant_id: randomUUID(),
      metadata: '{}',
      status: 'pending',
      kwargs: '{"config":{"configurable":{"checkpoint_id":null}}}',
      multitask_strategy: 'reject',
      owner: processes.processId,
      output: null,
      error: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const checkpoints = new CheckpointStore(agents.pool, deploymentId);
  const config = { configurable: { thread_id: threadId, checkpoint_ns: '' } };
  const checkpoint = {
    ...emptyCheckpoint(),
    channel_values: { text: ['x'] },
    channel_versions: { text: 1 },
  };
  const put = await checkpoints.put(
    config,
    checkpoint,
    { source: 'loop', step: 0, parents: {} },
    { text: 1 },
  );
  await checkpoints.putWrites(put, [['text', 'y']], randomUUID());
  const runs = new RunStore({ db: agents.kysely, deploymentId, processId: processes.processId });
  const begun = await runs.begin(run, { origin: '{}', config: '{}' });
  expect(begun).toMatchObject({ run: { attempt: 1 }, hasSavedWrites: true });
  return { threads, threadId, runs, run: begun!.run };
}

/** How many rows each table has. */
async function counts({ kysely }: AgentDatabase): Promise<number[]> {
  return Promise.all(
    TABLES.map(async (table) => {
      const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.table(table)}`.execute(
        kysely,
      );
      return Number(rows[0]?.n);
    }),
  );
}

it('deleting a deployment removes its agents’ data from every table, and no other data', async () => {
  const database = await openTestDatabase(await temporaryFolder());
  onTestFinished(() => database.close());
  // There was never an agent, so there are no tables.
  await removeAgentData(database.kysely, 'mine');

  const agents = await openAgentDatabase(database.connectionString, () => undefined);
  for (const deploymentId of ['mine', 'mine too']) await fill(agents, deploymentId);
  expect(await counts(agents)).toEqual(TABLES.map(() => 2));
  await removeAgentData(database.kysely, 'mine');
  expect(await counts(agents)).toEqual(TABLES.map(() => 1));
  await removeAgentData(database.kysely, 'mine too');
  expect(await counts(agents)).toEqual(TABLES.map(() => 0));
  await agents.close();
});

describe('what is removed leaves nothing for a later thread with its id, also if the process ends right after', () => {
  const database = useTestDatabase();
  let agents: AgentDatabase;
  beforeAll(async () => {
    agents = await openAgentDatabase(database.connectionString, () => undefined);
  });
  afterAll(() => agents.close());

  it.each([
    {
      what: 'a thread',
      remove: async ({ threads, threadId, run }: Awaited<ReturnType<typeof fill>>) => {
        const ends = new RunEnds({ db: agents.kysely, deploymentId: run.deployment_id });
        const thread = { status: 'idle', keepsError: false, state: undefined } as const;
        expect(await ends.finish(run, { status: 'success', thread })).toBeDefined();
        await threads.remove(threadId);
      },
    },
    {
      what: 'the record of a run without a thread',
      remove: async ({ runs, threadId, run }: Awaited<ReturnType<typeof fill>>) => {
        const { kysely } = agents;
        await kysely.deleteFrom('slipway_agent.threads').where('thread_id', '=', threadId).execute();
        const ended = { status: 'success', expires_at: new Date(0) };
        await kysely.updateTable('slipway_agent.runs').set(ended).where('run_id', '=', run.run_id).execute();
        await runs.removeExpired();
      },
    },
  ])('$what', async ({ what, remove }) => {
    const before = await counts(agents);
    await remove(await fill(agents, what));
    const left = (await counts(agents)).map((count, index) => count - (before[index] ?? 0));
    expect(TABLES.filter((_, index) => left[index] !== 0)).toEqual([
      'slipway_agent.processes',
      'slipway_agent.assistants',
      'slipway_agent.assistant_versions',
    ]);
  });
});
