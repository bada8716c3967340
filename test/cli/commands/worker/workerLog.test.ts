import { expect, it } from 'vitest';

import { logLine } from '../../../../src/cli/commands/worker/workerLog.ts';

it('a line of the worker’s log is one JSON object, like the platform’s lines', () => {
  const error = new Error('no answer', { cause: new TypeError('reset') });
  const line = logLine({
    level: 'WARN',
    timestampNanos: 1_790_000_000_123_456_789n,
    message: 'Activity failed',
    meta: { error, workflowId: 'target:a:b/release-1', release: 'release-1', tries: 3n },
  });
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    level: 40,
    time: '2026-09-21T14:13:20.123Z',
    msg: 'Activity failed',
    workflowId: 'target:a:b/release-1',
    release: 'release-1',
    tries: '3',
    err: {
      type: 'Error',
      message: 'no answer',
      stack: error.stack,
      cause: { type: 'TypeError', message: 'reset', stack: (error.cause as Error).stack },
    },
  });
});
