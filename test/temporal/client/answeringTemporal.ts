import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';

/** A Temporal that answers, and has a worker that polls. What its workflows and schedules answer is given. */
export function answeringTemporal(client: {
  readonly workflow: object;
  readonly schedule?: object;
}): TemporalConnection {
  const withDeadline = (_deadline: number, call: () => unknown) => call();
  const lastAccessTime = { seconds: Math.floor(Date.now() / 1_000) };
  return {
    client: { withDeadline, ...client },
    connection: {
      withDeadline,
      workflowService: {
        describeTaskQueue: () => Promise.resolve({ pollers: [{ identity: 'worker', lastAccessTime }] }),
      },
    },
    settings: { address: 'x', namespace: 'default', taskQueue: 'slipway', origin: 'dev' },
  } as unknown as TemporalConnection;
}
