import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type RealPostgres, startRealPostgres } from '../../../../test/support/realPostgres.ts';
import { type AgentUnderTest, apiOf, collectEvents, startAgentUnderTest } from './agentUnderTest.ts';
import { DURABLE_AGENT, sceneIn, timesByRun } from './durableAgents.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

/** Uses its own PostgreSQL, because the test stops and starts it. */
let postgres: RealPostgres;
let agent: AgentUnderTest;
const folder = useFolder();
const api = apiOf(() => agent.url);

beforeAll(async () => {
  postgres = await startRealPostgres();
  agent = await startAgentUnderTest({
    dir: DURABLE_AGENT,
    env: { SLIPWAY_AGENT_DATABASE_URL: postgres.url, SLIPWAY_AGENT_DEPLOYMENT_ID: 'restarted' },
  });
}, 180_000);

afterAll(async () => {
  agent.child.kill('SIGKILL');
  await agent.exited;
  await postgres.close();
});

describe('PostgreSQL, restarted during runs', { timeout: 240_000 }, () => {
  it('loses no run, repeats no node, and breaks no stream', async () => {
    const scene = sceneIn(folder);
    const names = Array.from({ length: 10 }, (_, index) => `run-${index}`);
    const begin = async (name: string, assistant: string) => {
      const path = `/threads/${await api.thread()}/runs`;
      const body = {
        assistant_id: assistant,
        input: scene.input(name),
        stream_resumable: true,
        stream_mode: 'updates',
      };
      const { run_id: id } = (await api.json('POST', path, body)) as { run_id: string };
      return `${path}/${id}`;
    };
    const standing = await Promise.all(names.map((name) => begin(name, 'work')));
    await scene.untilNoted('slow-begun', names.length);
    const streams = standing.map(async (run) =>
      collectEvents(await api.send('GET', `${run}/stream`, undefined, { headers: { 'last-event-id': '0' } })),
    );
    // These are between their five steps when it stops.
    const walking = await Promise.all(names.map((name) => begin(`walking-${name}`, 'chain')));
    await scene.untilNoted('2', names.length / 2);
    await postgres.restart(async () => {
      await scene.open();
      await scene.untilNoted('slow-ended', names.length);
    });
    for (const run of [...standing, ...walking]) {
      const output = (await api.json('GET', `${run}/join`)) as { log: string[] };
      expect([4, 5]).toContain(output.log.length);
      expect(await api.json('GET', run)).toMatchObject({ status: 'success', attempt: 1 });
    }
    for (const times of Object.values(timesByRun(scene.lines())))
      expect(Object.values(times)).toEqual(Object.values(times).map(() => 1));
    for (const events of await Promise.all(streams)) {
      expect(events.map(({ id }) => id)).toEqual([undefined, '1', '2', '3', '4']);
    }
  });
});
