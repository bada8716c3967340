import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';

import type { EventOf } from '../../src/cli/events/index.ts';
import { targetWorkflowId } from '../../src/domain/target/targetSpec.ts';
import { GREETS, Project, QUICK_STEPS } from './project.ts';
import { useStack } from './useStack.ts';

/** The releases and rollbacks of the test, in order. */
const WORKS = [
  ['canary', 'release-1'],
  ['canary', 'release-2'],
  ['canary', 'rollback-3'],
  ['production', 'release-1'],
] as const;

/** Answers slowly enough for a heartbeat. */
const AGENT = { says: 'Hello Ada', takesMs: 800 };

const stack = useStack({}, { gated: true });
let project: Project;
/** The worker's heartbeats as Temporal received them. */
const heartbeats: Buffer[] = [];

beforeAll(async () => {
  stack.gate.rule = ({ call, way, bytes }) => {
    if (call === 'RecordActivityTaskHeartbeat' && way === 'request') heartbeats.push(bytes);
    return undefined;
  };
  project = await Project.create(stack, { example: AGENT, deployment: 'canary' });
  const target = { controlPlane: stack.controlPlane, apiKey: { from: 'env:SLIPWAY_API_KEY' } };
  const config = {
    targets: {
      canary: { ...target, deployment: 'canary' },
      production: { ...target, deployment: 'production' },
    },
    checks: [GREETS],
    steps: QUICK_STEPS,
    promotions: { onward: { from: 'canary', to: 'production', soak: '1s', bake: '1s', checkEvery: '10s' } },
  };
  await writeFile(join(project.folder, 'slipway.yaml'), stringify(config));
  for (const words of [
    ['release', 'canary'],
    ['release', 'canary'],
    ['rollback', 'canary', '--reason', 'it was better'],
    ['promote', 'onward'],
  ]) {
    await project.touch(words.join(' ') + String(heartbeats.length));
    const { code, text } = await project.ran(...words);
    expect(code, text).toBe(0);
  }
});

function targetId(deployment: string): string {
  return targetWorkflowId({ controlPlane: stack.controlPlane, deployment });
}

/** What docs/capacity.md, "Temporal Cloud", bills as one action each. Attempts and markers are counted below. */
const ONE_ACTION = [
  'WORKFLOW_EXECUTION_STARTED',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  'TIMER_STARTED',
  'WORKFLOW_EXECUTION_SIGNALED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
].map((type) => `EVENT_TYPE_${type}`);

/** An event in the JSON of Temporal's own tools. */
interface Event {
  readonly eventType: string;
  readonly activityTaskStartedEventAttributes?: { readonly attempt: number };
  readonly markerRecordedEventAttributes?: { readonly workflowTaskCompletedEventId: string };
}

/** Counts the actions in a workflow's history, without Slipway's own code. */
async function actionsIn(workflowId: string): Promise<number> {
  const client = await stack.client();
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  const { events } = JSON.parse(historyToJSON(history)) as { readonly events: readonly Event[] };
  const ones = events.filter(({ eventType }) => ONE_ACTION.includes(eventType)).length;
  const attempts = events.map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0);
  const tasks = events.flatMap(
    (event) => event.markerRecordedEventAttributes?.workflowTaskCompletedEventId ?? [],
  );
  return attempts.reduce((sum, each) => sum + each, ones + new Set(tasks).size);
}

/** What `slipway show --cost` says about a release or a rollback. */
async function costOf(target: string, id: string): Promise<EventOf<'cost'>> {
  const { code, process, text } = await project.ran('show', id, target, '--cost', '--json');
  expect(code, text).toBe(0);
  return process.lines.find(({ event }) => event === 'cost') as unknown as EventOf<'cost'>;
}

it.each(WORKS)(
  'slipway show --cost prints the actions of %s %s, as its history has them',
  async (target, id) => {
    const workflowId = `${targetId(target)}/${id}`;
    const { history } = await costOf(target, id);
    expect(history?.total).toBe(await actionsIn(workflowId));
    const sent = heartbeats.filter((bytes) => bytes.includes(workflowId)).length;
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThanOrEqual(history?.heartbeatsAtMost ?? 0);
  },
);

/** The start of a target, and its first read of its state. */
const OWN_START = 2;

it.each(['canary', 'production'])(
  'what slipway show --cost adds for the target %s is all that its history has',
  async (target) => {
    const costs = WORKS.filter(([name]) => name === target).map(([, id]) => costOf(target, id));
    const added = (await Promise.all(costs)).reduce((sum, { ofTarget }) => sum + ofTarget, OWN_START);
    expect(added).toBe(await actionsIn(targetId(target)));
  },
);
