import { randomUUID } from 'node:crypto';

import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';

import { removeAgentData } from '../../src/agentServer/store/agentData.ts';
import { openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { AssistantStore } from '../../src/agentServer/store/assistantStore.ts';
import { CheckpointStore } from '../../src/agentServer/store/checkpointStore.ts';
import { ProcessStore } from '../../src/agentServer/store/processStore.ts';
import { RunStore } from '../../src/agentServer/store/runStore.ts';
import { ThreadStore } from '../../src/agentServer/store/threadStore.ts';
import { openTestDatabase } from '../testDatabase.ts';
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

it('deleting a deployment removes its agents’ data from every table, and no other data', async () => {
  const database = await openTestDatabase(await temporaryFolder());
  onTestFinished(() => database.close());
  // There was never an agent, so there are no tables.
  await removeAgentData(database.kysely, 'mine');

  const agents = await openAgentDatabase(database.connectionString, () => undefined);
  for (const deploymentId of ['mine', 'mine too']) {
    const threads = new ThreadStore({ db: agents.kysely, deploymentId });
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
    expect(await runs.begin(run, { origin: '{}', config: '{}' })).toMatchObject({
      run: { attempt: 1 },
      hasSavedWrites: true,
    });
  }
  const counts = async (): Promise<number[]> =>
    Promise.all(
      TABLES.map(async (table) => {
        const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.table(table)}`.execute(
          agents.kysely,
        );
        return Number(rows[0]?.n);
      }),
    );
  expect(await counts()).toEqual(TABLES.map(() => 2));
  await removeAgentData(database.kysely, 'mine');
  expect(await counts()).toEqual(TABLES.map(() => 1));
  await removeAgentData(database.kysely, 'mine too');
  expect(await counts()).toEqual(TABLES.map(() => 0));
  await agents.close();
});
