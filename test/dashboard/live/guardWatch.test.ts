import { expect, it, vi } from 'vitest';

import { type GuardOnPage, guardWatch } from '../../../src/dashboard/live/guardWatch.ts';
import type { Guarding } from '../../../src/domain/guard/guarding.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';

let pauses = 0;
let endPause = (): void => undefined;
vi.mock('../../../src/temporal/client/pause.ts', () => ({
  pause: () => {
    pauses += 1;
    return new Promise<void>((resolve) => (endPause = resolve));
  },
}));

const GUARDING: Guarding = {
  workflowId: 'guard:t/release-3',
  releaseId: 'release-3',
  revisionId: 'r3',
  until: '2026-11-25T10:00:00.000Z',
};
const ENDED = { at: '2026-11-25T09:30:00.000Z', verdict: 'preempted', note: '' } as const;

it('a guard that begins again is read again, and also while Temporal still shows its end', async () => {
  const result = { report: { releaseId: 'release-3', ...ENDED }, answer: null };
  const handle = {
    describe: () => Promise.resolve({ status: { name: 'COMPLETED' }, raw: {} }),
    result: () => Promise.resolve(result),
  };
  const temporal = answeringTemporal({
    workflow: { getHandle: () => handle },
    workflowService: { getWorkflowExecutionHistory: () => Promise.resolve({}) },
  });
  const reads: GuardOnPage[] = [];
  const see = guardWatch(temporal, (read) => reads.push(read), new AbortController().signal);
  see({ ...GUARDING, ended: ENDED });
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  expect(pauses).toBe(0);

  see({ ...GUARDING, until: '2026-11-25T11:00:00.000Z' });
  await vi.waitFor(() => expect(pauses).toBe(1));
  expect(reads).toHaveLength(2);
  endPause();
  await vi.waitFor(() => expect(pauses).toBe(2));
  expect(reads).toHaveLength(3);
});
