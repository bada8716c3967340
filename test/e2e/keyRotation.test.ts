import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { keyIdsIn } from '../../src/temporal/history/payloads.ts';
import { type PeopleAtIssuer, peopleAtIssuer } from '../identity/peopleAtIssuer.ts';
import { Observer } from './observer.ts';
import { type Process, slipway } from './processes.ts';
import { GREETS, Project, QUICK_STEPS } from './project.ts';
import { eventually, Stack } from './stack.ts';
import { freePort } from '../support/listen.ts';

/** The keys of all processes, in the order of docs/encryption.md, "Rotation". */
const KEYS = {
  before: 'old=env:OLD_KEY',
  first: 'old=env:OLD_KEY,new=env:NEW_KEY',
  second: 'new=env:NEW_KEY,old=env:OLD_KEY',
  third: 'new=env:NEW_KEY',
} as const;

/** Changed while the stack runs: processes that start later have the new keys. */
const env: Record<string, string> = {
  OLD_KEY: randomBytes(32).toString('base64'),
  NEW_KEY: randomBytes(32).toString('base64'),
  SLIPWAY_PAYLOAD_KEYS: KEYS.before,
};

/** Reasons, and the identity in a proof. */
const PLANTED = ['planted-reason-71c2', 'planted-approval-0e5d', 'ben@example.com'] as const;

/** The fields that docs/encryption.md lists as readable. */
const LISTED = [
  ...['activityId', 'updateId', 'requestId', 'runId', 'timerId', 'workflowId', 'acceptedRequestMessageId'],
  ...['firstExecutionRunId', 'originalExecutionRunId', 'protocolInstanceId', 'namespaceId'],
  ...['parentWorkflowNamespaceId', 'name', 'signalName', 'markerName', 'type', 'source'],
  ...['SlipwayArtifact', 'SlipwayOutcome', 'SlipwayRevision', 'SlipwayTarget'],
  ...['buildId', 'identity', 'normalName', 'namespace', 'parentWorkflowNamespace', 'sdkName', 'sdkVersion'],
  // Of a marker: the ids, types and times of a local activity.
  'data',
];

/** Readable in the lock of a deployment, which names its target. */
const LISTED_OF_LOCKS = ['owner', 'summary', 'details'];

let people: PeopleAtIssuer;
let stack: Stack;
let project: Project;
let production: Observer;
let page: Process;
let promotion: Process;

beforeAll(async () => {
  people = await peopleAtIssuer('ada', 'ben');
  const { SLIPWAY_OIDC_ISSUER, SLIPWAY_OIDC_CLIENT_ID } = people.environmentOf('');
  Object.assign(env, { SLIPWAY_OIDC_ISSUER, SLIPWAY_OIDC_CLIENT_ID });
  stack = await Stack.start({}, { env });
  project = await Project.create(stack, { example: { says: 'Hello Ada, this is A' }, deployment: 'canary' });
  await writeFile(join(project.folder, 'slipway.yaml'), stringify(config()));
  production = new Observer(stack, 'production');
  page = await openPage();
});
afterAll(async () => {
  await page.stop();
  await stack.stop();
  await people.close();
});

function config(): object {
  const target = { controlPlane: stack.controlPlane, apiKey: { from: 'env:SLIPWAY_API_KEY' } };
  const promotion = { from: 'canary', to: 'production', checkEvery: '1s' };
  return {
    targets: {
      canary: { ...target, deployment: 'canary' },
      production: { ...target, deployment: 'production', approval: { required: 1, identity: 'oidc' } },
    },
    checks: [GREETS],
    steps: QUICK_STEPS,
    promotions: {
      onward: { ...promotion, bake: '1s' },
      monthly: { ...promotion, schedule: { every: '30d', jitter: '0s' } },
    },
  };
}

function says(who: string, ...words: string[]): Process {
  return slipway(words, { env: { ...stack.env, ...people.environmentOf(who) }, cwd: project.folder });
}

async function did(who: string, ...words: string[]): Promise<string> {
  const command = says(who, ...words);
  const code = await command.exited;
  const text = command.stdout + command.stderr;
  expect(code, text).toBe(0);
  return text;
}

async function promotes(): Promise<void> {
  promotion = says('ada', 'promote', 'onward', '--json', '--reason', PLANTED[0]);
  await promotion.line(({ event, for: what }) => event === 'waiting' && what === 'approval');
}

async function approved(): Promise<void> {
  await did('ben', 'approve', '--promotion', 'onward', '--reason', PLANTED[1]);
  expect(await promotion.exited, promotion.stdout + promotion.stderr).toBe(0);
  expect(promotion.lines.at(-1)).toMatchObject({
    outcome: 'released',
    interventions: [{ by: { who: 'ben@example.com', proved: { subject: 'ben' } } }],
  });
}

async function openPage(): Promise<Process> {
  const opened = slipway(['dashboard', '--json', '--port', String(await freePort())], {
    // People need not sign in to this page.
    env: { ...stack.env, SLIPWAY_OIDC_ISSUER: '' },
    cwd: project.folder,
  });
  await opened.ready();
  return opened;
}

async function pageShows(text: string): Promise<void> {
  const { dashboard } = await page.ready();
  await eventually(async () => {
    const answer = await fetch(new URL('/promotions', String(dashboard)));
    expect(await answer.text()).toContain(text);
  });
}

/** Gives all processes other keys: the next worker starts before the last one ends. */
async function roll(keys: string): Promise<void> {
  env['SLIPWAY_PAYLOAD_KEYS'] = keys;
  const last = stack.worker;
  await stack.startWorker();
  await last.stop();
}

/** The ids of the keys in all histories. */
async function keysInTemporal(): Promise<readonly string[]> {
  const client = await stack.client();
  const found = new Set<string>();
  for await (const { workflowId, runId } of client.workflow.list())
    for (const id of keyIdsIn(await client.workflow.getHandle(workflowId, runId).fetchHistory()))
      found.add(id);
  return [...found].sort();
}

it('with one key, an artifact is promoted to a target after a proved approval', async () => {
  await did('ada', 'schedule', 'apply');
  await did('ada', 'schedule', 'pause', 'monthly', '--reason', 'not yet');
  const without = (...words: string[]) =>
    slipway(['schedule', ...words], {
      env: { ...stack.env, ...people.environmentOf('ada'), SLIPWAY_PAYLOAD_KEYS: KEYS.third },
      cwd: project.folder,
    });
  for (const what of ['list', 'apply']) {
    const refused = without(what);
    expect(await refused.exited).toBe(1);
    expect(refused.stderr).toMatch(/:monthly cannot be read: .* the key "old".*temporal schedule delete/su);
    expect(refused.stdout).not.toContain('cannot be read');
  }
  const paused = without('pause', 'monthly', '--reason', 'not yet');
  expect(await paused.exited, paused.stderr).toBe(0);
  await did('ada', 'release', 'canary');
  expect(await did('ada', 'audit')).toContain('production: no releases and rollbacks');
  await promotes();
  await approved();
  expect(await production.ask('Hello')).toContain('this is A');
  await pageShows('onward: promoted');
  expect(await keysInTemporal()).toEqual(['old']);
});

it('in the first step, every process reads both keys and writes with the old one', async () => {
  await roll(KEYS.first);
  await page.stop();
  page = await openPage();
  await project.use({ says: 'Hello Ada, this is B' });
  await writeFile(join(project.folder, 'slipway.yaml'), stringify(config()));
  await did('ada', 'release', 'canary');
  await promotes();
  expect(await keysInTemporal()).toEqual(['old']);
  expect(await did('ada', 'doctor')).toContain('"old" encrypts, and nothing that runs needs another key');
});

it('in the second step, a promotion and the processes of the first step continue', async () => {
  await roll(KEYS.second);
  await approved();
  expect(await production.ask('Hello')).toContain('this is B');
  await pageShows('onward: promoted');
  await page.stop();
  page = await openPage();
  await pageShows('onward: promoted');
  expect(await keysInTemporal()).toEqual(['new', 'old']);
});

it('then a target rolls back to a revision from before, and no rule is broken', async () => {
  await did('ada', 'rollback', 'production', '--reason', 'it was better');
  expect(await production.ask('Hello')).toContain('this is A');
  await did('ada', 'unhold', 'production', '--reason', 'looked at it');
  expect(await did('ada', 'status')).toContain('production');
  expect(await did('ada', 'history', 'production')).toContain('release-1');
  expect(await did('ada', 'show', 'latest', 'production')).toContain('ada@example.com (proved');
  await did('ada', 'audit');
});

it('histories have only the fields that docs/encryption.md lists as readable', async () => {
  const client = await stack.client();
  const found = new Set<string>();
  for await (const { workflowId, runId, type } of client.workflow.list())
    for (const event of (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [])
      for (const name of readable(event))
        if (type !== 'deployment' || !LISTED_OF_LOCKS.includes(name)) found.add(name);
  expect([...found].filter((name) => !LISTED.includes(name))).toEqual([]);
  expect(found).toContain('SlipwayRevision');
  const database = await stack.temporalDatabase();
  expect(database.includes('canary'), 'what is not encrypted is found').toBe(true);
  for (const word of PLANTED) expect(database.includes(word), word).toBe(false);
});

it('slipway doctor --fix encrypts with the new key whatever outlives the retention', async () => {
  const before = await did('ada', 'doctor');
  expect(before).toContain('still need "old"');
  expect(before).toContain(':monthly');
  await did('ada', 'doctor', '--fix');
  await eventually(async () =>
    expect(await did('ada', 'doctor')).toContain('nothing that runs needs another key'),
  );
});

it('without the old key, releases go on once the ended workflows are gone', async () => {
  const client = await stack.client();
  await forgetEnded(client);
  await roll(KEYS.third);
  delete env['OLD_KEY'];
  await page.stop();
  page = await openPage();
  await pageShows('monthly: has not run');
  expect(await keysInTemporal()).toEqual(['new']);
  await project.use({ says: 'Hello Ada, this is C' });
  await writeFile(join(project.folder, 'slipway.yaml'), stringify(config()));
  await did('ada', 'release', 'canary');
  await promotes();
  await approved();
  await pageShows('onward: promoted');
  expect(await production.ask('Hello')).toContain('this is C');
  await did('ada', 'rollback', 'production', '--reason', 'it was better');
  expect(await did('ada', 'schedule', 'list')).toContain('not yet');
  await did('ada', 'audit');
});

/** The names of the fields in a part of a history that are not encrypted. */
function readable(part: object, name = ''): readonly string[] {
  const { metadata } = part as { readonly metadata?: { readonly encoding?: Uint8Array } };
  if (metadata?.encoding !== undefined) {
    const encoding = Buffer.from(metadata.encoding).toString();
    return ['binary/encrypted', 'binary/null'].includes(encoding) ? [] : [name];
  }
  return Object.entries(part).flatMap(([field, value]: [string, unknown]) => {
    if (typeof value === 'string') return ['', 'Encoded failure'].includes(value) ? [] : [field];
    if (typeof value !== 'object' || value === null) return [];
    return readable(value, Array.isArray(part) || field === 'payloads' ? name : field);
  });
}

/** Deletes all ended workflows, as Temporal does at the end of their retention. One may end only after it was listed. */
async function forgetEnded(client: Client): Promise<void> {
  const query = "ExecutionStatus != 'Running'";
  await eventually(async () => {
    for await (const { workflowId, runId } of client.workflow.list({ query }))
      await client.workflowService.deleteWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId, runId },
      });
    expect((await client.workflow.count(query)).count).toBe(0);
  });
}
