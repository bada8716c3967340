import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';

import { artifactIdentity } from '../domain/artifact/artifact.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { Injection } from '../domain/rehearsal/injection.ts';
import { targetWorkflowId } from '../domain/target/targetSpec.ts';
import { EMPTY_TARGET } from '../domain/target/targetState.ts';
import { type TargetInput, WORKFLOW_TYPES } from '../messages/workflowTypes.ts';
import { createClient } from '../temporal/client/connection.ts';
import type { TestServer } from '../temporal/server/testServer.ts';
import { runWorker } from '../worker.ts';
import { Attention } from './attention.ts';
import { Outcomes } from './outcomes.ts';
import { Play, type Rehearsal, type RehearsalEvent } from './play.ts';
import { rehearsalActivities } from './rehearsalActivities.ts';
import { RehearsedOutside } from './rehearsedOutside.ts';
import { DAY_MS } from '../domain/duration.ts';

export interface RehearseOptions {
  readonly onEvent: (event: RehearsalEvent) => void;
  readonly signal?: AbortSignal;
  /** Default: the bundle beside the built code. */
  readonly bundlePath?: string;
}

/** The result of a rehearsal. Instants are milliseconds since 1970, in skipped time. */
export interface Rehearsed {
  readonly startedAt: number;
  /** The injections that nothing reached. */
  readonly unmet: readonly Injection[];
}

const TASK_QUEUE = 'rehearsal';
/** How long ago the initial revisions were verified. */
const VERIFIED_FOR_MS = 30 * DAY_MS;

/**
 * Rehearses promotions and releases: runs the unchanged workflows in the skipped time of a test server, with control
 * planes, agents and stores in memory.
 * @param server - must be used by nothing else. It is left running.
 * @throws the signal's reason; SlipwayError SLIPWAY_TEST_SERVER_UNAVAILABLE if the server ends.
 */
export async function rehearse(
  server: TestServer,
  rehearsal: Rehearsal,
  { onEvent, signal, bundlePath }: RehearseOptions,
): Promise<Rehearsed> {
  const { time, connection, namespace } = server;
  const client = createClient(connection, namespace);
  const outcomes = new Outcomes(rehearsal.injections, rehearsal.timeZone);
  const play = new Play({ client, time, taskQueue: TASK_QUEUE, outcomes, rehearsal, onEvent });
  const attention = new Attention(
    time,
    client,
    (execution, progress) => play.look(execution, progress),
    (error) => play.fail(error),
  );
  const now = (): Promise<number> => time.now();
  const promotions = rehearsal.promotions.map(({ request }) => request);
  const outside = new RehearsedOutside({ outcomes, promotions, now });
  await setUp(client, outside, rehearsal, await time.now());

  const ending = new AbortController();
  const interrupted = (): void => play.fail(signal?.reason);
  signal?.addEventListener('abort', interrupted, { once: true });
  const native = await NativeConnection.connect({ address: server.address });
  const working = runWorker({
    connection: native,
    namespace,
    taskQueue: TASK_QUEUE,
    identity: 'rehearsal',
    signal: ending.signal,
    outside: () => ({
      activities: attention.over(rehearsalActivities(outside, outcomes, now)),
      close: () => Promise.resolve(),
    }),
    bundlePath,
  });
  working.catch((error: unknown) => play.fail(error));
  void server.exited.then(() =>
    play.fail(
      new SlipwayError(
        'SLIPWAY_TEST_SERVER_UNAVAILABLE',
        'Temporal’s test server ended in the middle of the rehearsal',
      ),
    ),
  );
  try {
    signal?.throwIfAborted();
    const startedAt = await time.now();
    outcomes.begin(startedAt);
    await play.until(startedAt, startedAt + rehearsal.days * DAY_MS);
    return { startedAt, unmet: outcomes.unmet };
  } finally {
    signal?.removeEventListener('abort', interrupted);
    ending.abort();
    await working;
    await native.close();
  }
}

/** Gives each target an initial revision that was verified long ago. */
async function setUp(
  client: Client,
  outside: RehearsedOutside,
  { targets }: Rehearsal,
  now: number,
): Promise<void> {
  const verifiedAt = now - VERIFIED_FOR_MS;
  for (const { spec, serves } of targets) {
    const revisionId = outside.deploy(spec, serves);
    const at = new Date(verifiedAt).toISOString();
    const known = [{ revisionId, verified: true, artifact: artifactIdentity(serves), at }];
    const input: TargetInput = { state: { ...EMPTY_TARGET, spec, known, activeRevisionId: revisionId } };
    await client.workflow.start(WORKFLOW_TYPES.target, {
      workflowId: targetWorkflowId(spec),
      taskQueue: TASK_QUEUE,
      args: [input],
    });
  }
}
