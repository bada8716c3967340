import { once } from 'node:events';

import { status } from '@grpc/grpc-js';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';

/** A Temporal that answers, and has a polling worker. The test sets the answers of its workflows and schedules. */
export function answeringTemporal({
  worker = { lastAccessTime: { seconds: Math.floor(Date.now() / 1_000) } },
  getSystemInfo = () => Promise.resolve({}),
  ...client
}: {
  readonly workflow: object;
  readonly activity?: object;
  readonly workflowService?: object;
  readonly schedule?: object;
  readonly worker?: object;
  readonly getSystemInfo?: () => Promise<object>;
}): TemporalConnection {
  const withDeadline = (_deadline: number, call: () => unknown) => call();
  const withAbortSignal = (signal: AbortSignal, call: () => unknown) =>
    Promise.race([call(), once(signal, 'abort').then(() => Promise.reject(grpcError('CANCELLED')))]);
  return {
    client: { withDeadline, withAbortSignal, ...client },
    connection: {
      withDeadline,
      withAbortSignal,
      workflowService: {
        getSystemInfo,
        pollActivityTaskQueue: () => Promise.reject(new Error('no poll from here')),
        describeTaskQueue: () => Promise.resolve({ pollers: [{ identity: 'worker', ...worker }] }),
      },
    },
    settings: { address: 'x', namespace: 'default', taskQueue: 'slipway', origin: 'dev' },
  } as unknown as TemporalConnection;
}

/** The error of a call that Temporal, or gRPC here, ended with a status. */
export function grpcError(name: keyof typeof status): Error {
  const code = status[name];
  return Object.assign(new Error(`${code} ${name}`), { code, details: '', metadata: {} });
}

/** The description of a workflow that a person has pinned to a version of the workers. */
export function pinnedTo(buildId: string): object {
  const versioningInfo = { versioningOverride: { pinned: { version: { buildId } } } };
  return { raw: { workflowExecutionInfo: { versioningInfo } }, status: { name: 'RUNNING' } };
}
