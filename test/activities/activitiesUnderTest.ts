import { inspect } from 'node:util';

import { ApplicationFailure, type Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, onTestFinished } from 'vitest';

import type { Activities } from '../../src/activities/activities.ts';
import { createActivities } from '../../src/activities/createActivities.ts';
import { readHeartbeat } from '../../src/domain/heartbeat.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import { type FaultyService, type Handler, json, startService } from '../clients/faultyService.ts';

export const DEPLOYMENT_ID = '11111111-1111-4111-8111-111111111111';
export const REVISION_ID = '22222222-2222-4222-8222-222222222222';
export const OTHER_REVISION_ID = '33333333-3333-4333-8333-333333333333';

/** A secret that must appear only in requests. */
export const API_KEY = 'the-key-of-the-control-plane';
export const AGENT_KEY = 'the-key-of-the-agent';
export const SECRET = 'the-value-of-a-secret';
const HIDDEN = [API_KEY, AGENT_KEY, SECRET, 'signature='];

// Not as stubs, which the tests of another file of this process may remove.
Object.assign(process.env, {
  SLIPWAY_TEST_API_KEY: API_KEY,
  SLIPWAY_TEST_AGENT_KEY: AGENT_KEY,
  SLIPWAY_TEST_SECRET: SECRET,
});

export function targetOn(controlPlane: string, fields: Partial<TargetSpec> = {}): TargetSpec {
  return {
    name: 'production',
    controlPlane,
    apiKey: { from: 'env:SLIPWAY_TEST_API_KEY' },
    deployment: 'greeter',
    source: 'internal_source',
    sourceConfig: {},
    ...fields,
  };
}

/** The revision of a target that most activities work on. */
export function revisionOn(controlPlane: string, fields: Partial<TargetSpec> = {}) {
  return { target: targetOn(controlPlane, fields), deploymentId: DEPLOYMENT_ID, revisionId: REVISION_ID };
}

/** The same revision, as a release that starts to wait for it. */
export function awaitedOn(controlPlane: string, fields: Partial<TargetSpec> = {}) {
  return { ...revisionOn(controlPlane, fields), since: Date.now(), until: Date.now() + 60_000 };
}

export function deploymentAnswer(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    id: DEPLOYMENT_ID,
    tenant_id: DEPLOYMENT_ID,
    name: 'greeter',
    source: 'internal_source',
    source_config: { custom_url: 'http://agent.example' },
    source_revision_config: { graph_config_path: 'graph.json', source_tarball_path: 'uploads/1.tar.gz' },
    secrets: [{ name: 'MODEL_KEY', value: SECRET }],
    created_at: '2026-11-21T10:00:00Z',
    updated_at: '2026-11-21T10:00:00Z',
    status: 'READY',
    latest_revision_id: REVISION_ID,
    active_revision_id: REVISION_ID,
    ...fields,
  };
}

export function revisionAnswer(status: string): Record<string, unknown> {
  return { id: REVISION_ID, status, source_revision_config: { source_tarball_path: 'uploads/1.tar.gz' } };
}

/** The handlers of a service, by `METHOD /path` without query. */
export type Routes = Readonly<Record<string, Handler>>;

/** Starts a service with these routes; all other requests get a 404. Stopped after the test. */
export function startRoutes(routes: Routes): Promise<FaultyService> {
  return startService((request, response) => {
    const route = routes[`${request.method} ${request.url.split('?')[0]}`];
    if (route === undefined) json(response, 404, { detail: 'Not Found' });
    else route(request, response);
  });
}

export const DEPLOYMENT_PATH = `/v2/deployments/${DEPLOYMENT_ID}`;
export const REVISION_PATH = `${DEPLOYMENT_PATH}/revisions/${REVISION_ID}`;

/** Activities as a worker runs one attempt. Checks that results and log lines contain no secret. */
export interface ActivitiesUnderTest extends Activities {
  readonly environment: MockActivityEnvironment;
  readonly heartbeats: unknown[];
  /** What the heartbeats said, each text once, however often a busy machine made an attempt repeat it. */
  said(): readonly string[];
}

/** Creates activities whose every call is one attempt. Their connections are closed after the test. */
export function activitiesUnderTest(
  info: Partial<
    Pick<
      Info,
      | 'activityId'
      | 'attempt'
      | 'activityType'
      | 'isLocal'
      | 'workflowExecution'
      | 'scheduledTimestampMs'
      | 'currentAttemptScheduledTimestampMs'
      | 'scheduleToCloseTimeoutMs'
      | 'heartbeatDetails'
      | 'heartbeatTimeoutMs'
      | 'retryPolicy'
    >
  > = {},
  shuttingDown: AbortSignal = new AbortController().signal,
  dashboard: string | null = null,
): ActivitiesUnderTest {
  const environment = new MockActivityEnvironment(
    {
      startToCloseTimeoutMs: 20_000,
      heartbeatTimeoutMs: 10_000,
      scheduledTimestampMs: Date.now(),
      currentAttemptScheduledTimestampMs: Date.now(),
      scheduleToCloseTimeoutMs: 3_600_000,
      ...info,
    },
    { logger: new DefaultLogger('DEBUG', (entry) => expectNothingHidden(entry)) },
  );
  const heartbeats: unknown[] = [];
  environment.on('heartbeat', (progress: unknown) => heartbeats.push(progress));
  const rules = { atOnce: 0, apartMs: 0 };
  const { activities, ...connections } = createActivities(shuttingDown, rules, 'slipway', dashboard);
  onTestFinished(() => connections.close());
  const attempts = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: unknown) => {
      const result: unknown = await environment.run(activity as (input: unknown) => Promise<unknown>, input);
      expectNothingHidden(result);
      return result;
    },
  ]);
  const said = () => [...new Set(heartbeats.flatMap((progress) => readHeartbeat(progress)?.says ?? []))];
  return { ...(Object.fromEntries(attempts) as Activities), environment, heartbeats, said };
}

/** The failure of an activity. Checks that it contains no secret. */
export async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const failure: unknown = await attempt.then(
    () => new Error('The activity succeeded'),
    (reason: unknown) => reason,
  );
  if (!(failure instanceof ApplicationFailure)) throw failure;
  expectNothingHidden(failure);
  return failure;
}

/** Expects that a value contains no secret: for errors, stack, details and causes included. */
function expectNothingHidden(value: unknown): void {
  const shown = inspect(value, { depth: Infinity, showHidden: true, maxStringLength: Infinity });
  for (const hidden of HIDDEN) expect(shown).not.toContain(hidden);
}
