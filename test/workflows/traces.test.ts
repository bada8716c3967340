import { expect, it } from 'vitest';

import { TRACE_HEADER } from '../../src/messages/traceHeader.ts';
import { decodeAll } from '../../src/temporal/history/payloads.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';

const TRACES = ['a', 'b', 'c'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);

async function headersOf(target: TargetUnderTest, releaseId: string): Promise<readonly unknown[]> {
  const { events } = await target.child(releaseId).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled == null) return [];
    const payload = scheduled.header?.fields?.[TRACE_HEADER];
    return payload == null ? [null] : decodeAll({ payloads: [payload] });
  });
}

describeWorkflows('a trace', (harness) => {
  it('is passed to each activity of its release with the step, and to none of another one', async () => {
    const targets = TRACES.map((trace) => ({ trace, target: harness.newTarget() }));
    await Promise.all(
      targets.map(async ({ trace, target }) => {
        const { releaseId } = await target.release('a', { trace });
        const headers = await headersOf(target, releaseId);
        expect(headers.length).toBeGreaterThan(2);
        for (const header of headers) expect(header).toMatchObject({ traceparent: trace });
        expect(headers).toContainEqual({ traceparent: trace, step: 'patch' });
      }),
    );
  });

  it('leaves the history unchanged without traces', async () => {
    const target = harness.newTarget();
    const { releaseId } = await target.release('a');
    const headers = await headersOf(target, releaseId);
    expect(new Set(headers)).toEqual(new Set([null]));
  });

  it('that is invalid is rejected, before it enters a history', async () => {
    const target = harness.newTarget();
    await expect(target.release('a', { trace: 'a secret' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('"trace": expected a traceparent of version 00') as string },
    });
  });
});
