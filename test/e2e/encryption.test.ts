import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { beforeAll, expect, it } from 'vitest';

import { connectTemporal, createClient } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { fetchHistories } from '../../src/temporal/history/fetchHistories.ts';
import { asText } from '../../src/temporal/history/payloads.ts';
import { meet, PASS, REQUESTS } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { slipway } from './processes.ts';
import { Project } from './project.ts';
import { useStack } from './useStack.ts';
import { freePort } from '../support/listen.ts';

const DEPLOYMENT = 'sealed';
/** Reasons, answers and error texts. All pass through Temporal, and none is an id. */
const PLANTED = {
  input: 'planted-input-7f3a',
  failure: 'planted-goodbye-9d1c',
  reason: 'planted-reason-5b8e',
  rollback: 'planted-rollback-2c4d',
} as const;

/** Sent without keys, to prove that the search of the database finds readable text. */
const READABLE = 'planted-readable-1e6f';

/** Changed while the stack runs: processes that start later have the new keys. */
const env: Record<string, string> = {
  OLD_KEY: randomBytes(32).toString('base64'),
  NEW_KEY: randomBytes(32).toString('base64'),
  SLIPWAY_PAYLOAD_KEYS: 'old=env:OLD_KEY',
};

const stack = useStack({}, { env });
let project: Project;
let seen: Observer;
beforeAll(async () => {
  project = await Project.create(stack, {
    example: { says: 'Hello Ada' },
    deployment: DEPLOYMENT,
    checks: [
      {
        name: 'greets',
        assistant: 'greeter',
        input: { messages: [{ role: 'user', content: PLANTED.input }] },
        expect: { contains: 'Ada' },
        timeout: '20s',
      },
    ],
  });
  seen = new Observer(stack, DEPLOYMENT);
});

it('a release that began on a worker with only the old key ends on one with a new key first', async () => {
  let release = (): void => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  const met = meet(stack.proxy, REQUESTS.run, { kind: 'hold', until }, 1);
  const releasing = project.run('release', 'staging');
  await met;
  await stack.worker.kill();
  env['SLIPWAY_PAYLOAD_KEYS'] = 'new=env:NEW_KEY,old=env:OLD_KEY';
  await stack.startWorker();
  stack.proxy.rule = PASS;
  release();
  // The command has the old key only, and cannot read what the new worker writes.
  const code = await releasing.exited;
  expect(releasing.stdout + releasing.stderr).toContain('SLIPWAY_PAYLOAD_KEY_MISSING');
  expect(code).toBe(5);
  const { code: joined, text } = await project.ran('release', 'staging');
  expect(joined, text).toBe(0);
});

it('a failing release is rolled back, and the command shows the reason', async () => {
  await project.use({ says: PLANTED.failure });
  const { code, text } = await project.ran('release', 'staging');
  expect(code, text).toBe(2);
  expect(text).toContain('greets');
});

it('people’s signals and updates are executed', async () => {
  for (const words of [
    ['hold', '--reason', PLANTED.reason],
    ['unhold', '--reason', PLANTED.reason],
  ]) {
    const [verb = '', ...rest] = words;
    const { code, text } = await project.ran(verb, 'staging', ...rest);
    expect(code, text).toBe(0);
  }
  await project.use({ says: 'Hello Ada again' });
  expect((await project.ran('release', 'staging')).code).toBe(0);
  const { code, text } = await project.ran('rollback', 'staging', '--reason', PLANTED.rollback);
  expect(code, text).toBe(0);
});

it.each([
  [['status'], 'release-1'],
  [['show', 'release-2'], 'rolled back'],
  [['history', 'staging'], 'release-2'],
  [['logs', 'staging', '--release', 'release-2'], PLANTED.failure],
  [['audit'], 'no'],
])('slipway %j reads through the keys', async (words, expected) => {
  const { code, text } = await project.ran(...words);
  expect(code, text).toBe(0);
  expect(text).toContain(expected);
});

it('the dashboard reads through the keys', async () => {
  const page = slipway(['dashboard', '--json', '--port', String(await freePort())], {
    env: stack.env,
    cwd: project.folder,
  });
  try {
    const { dashboard } = await page.ready();
    const home = await (await fetch(String(dashboard))).text();
    expect(home).toContain('staging');
    expect((await seen.target()).state.history.length).toBeGreaterThan(0);
  } finally {
    await page.stop();
  }
});

it.each([
  ['status', 'SLIPWAY_PAYLOAD_KEY_MISSING'],
  ['audit', 'SLIPWAY_PAYLOAD_KEY_MISSING'],
])('without the keys, slipway %s names the key to set', async (command, code) => {
  const asked = slipway([command], {
    env: { ...stack.env, SLIPWAY_PAYLOAD_KEYS: '' },
    cwd: project.folder,
  });
  expect(await asked.exited).toBe(1);
  const text = asked.stdout + asked.stderr;
  expect(text).toContain(code);
  expect(text).toContain('SLIPWAY_PAYLOAD_KEYS="');
  expect(text).not.toMatch(/^\s+at .*:\d+:\d+/m);
});

it('no planted word is readable in Temporal’s database', async () => {
  const settings = await temporalSettings(join(stack.folder, 'home'), stack.env);
  const temporal = await connectTemporal(settings);
  let decoded = '';
  let targetId = '';
  try {
    for await (const { workflowId, type } of temporal.client.workflow.list()) {
      if (type !== 'target') continue;
      targetId = workflowId;
      const histories = await fetchHistories(temporal, workflowId);
      decoded += histories.map(({ history }) => asText(history)).join('\n');
    }
    const unkeyed = createClient(temporal.connection);
    // A message without keys, as from `temporal workflow signal`, is stored unencrypted.
    await unkeyed.workflow.getHandle(targetId).signal('unknown', READABLE);
    let memos = 0;
    for await (const { memo } of temporal.client.workflow.list()) memos += Object.keys(memo ?? {}).length;
    expect(memos, 'there are memos').toBeGreaterThan(0);
    await expect(
      (async () => {
        for await (const { memo } of unkeyed.workflow.list()) expect(memo).toBeDefined();
      })(),
    ).rejects.toThrow('is encrypted with the key');
  } finally {
    await temporal.close();
  }
  const database = await stack.temporalDatabase();
  expect(database.includes(READABLE), 'what is not encrypted is found').toBe(true);
  for (const word of Object.values(PLANTED)) {
    expect(decoded.includes(word), word).toBe(true);
    expect(database.includes(word), word).toBe(false);
  }
  // The parts of a release: its configuration, its steps' results, its stack traces.
  for (const word of ['controlPlane', 'sourceTarballPath', 'env:SLIPWAY_API_KEY', 'activities/', 'greets'])
    expect(database.includes(word), word).toBe(false);
});
