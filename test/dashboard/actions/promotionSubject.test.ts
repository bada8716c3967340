import { expect, it } from 'vitest';

import { promotionSubject } from '../../../src/dashboard/actions/promotionSubject.ts';
import type { PageContext } from '../../../src/dashboard/pageContext.ts';
import { startingProgress } from '../../../src/domain/release/startingProgress.ts';
import { NOW, request } from '../../domain/target/targets.ts';

const { target, requestedBy } = request('a');
const PROMOTION = {
  name: 'nightly',
  from: { ...target, name: 'canary' },
  to: target,
  freezes: [],
  soakMs: 0,
};
const WAITING = { for: 'approval', since: NOW, until: NOW, note: '' } as const;
const MESSAGE = { who: 'bo', from: 'dashboard', reason: 'good', requestId: 'one' };

it('an approval of an earlier run of a promotion is refused, because it promotes something else', async () => {
  const sent: unknown[] = [];
  const shown = await approval('run-1', sent);
  expect(shown?.order).toMatchObject({ problem: undefined, carried: { run: 'run-1' } });
  const pressed = await approval('run-2', sent);
  const stale = { run: shown?.order.carried?.['run'] ?? '' };
  await expect(pressed?.send(stale, MESSAGE, () => undefined)).rejects.toMatchObject({
    code: 'SLIPWAY_WRONG_MOMENT',
    message: 'the promotion nightly has ended, and was started again since',
  });
  expect(sent).toEqual([]);
  await shown?.send(stale, MESSAGE, () => undefined);
  expect(sent).toHaveLength(1);
});

/** The page of an approval, while the given run of the promotion waits for it. */
function approval(runId: string, sent: unknown[]) {
  const payload = {
    metadata: { encoding: Buffer.from('json/plain') },
    data: Buffer.from(JSON.stringify({ request: { ...PROMOTION, requestedBy } })),
  };
  const attributes = { originalExecutionRunId: runId, input: { payloads: [payload] } };
  const started = {
    eventTime: { seconds: 1, nanos: 0 },
    workflowExecutionStartedEventAttributes: attributes,
  };
  const progress = startingProgress({ releaseId: 'nightly', kind: 'promotion', startedAt: NOW });
  const handle = {
    describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
    query: () => Promise.resolve({ ...progress, waiting: WAITING }),
    executeUpdate: (...update: unknown[]) => {
      sent.push(update);
      return Promise.resolve({ disposition: 'taken', note: 'approved' });
    },
  };
  const workflowService = {
    getWorkflowExecutionHistory: () => Promise.resolve({ history: { events: [started] } }),
  };
  const client = {
    workflow: { getHandle: () => handle },
    workflowService,
    withDeadline: (_: number, ask: () => unknown) => ask(),
  };
  const temporal = { client, settings: { namespace: 'default' } };
  return promotionSubject({ temporal } as unknown as PageContext, 'promotion:x:nightly', 'approve', {
    name: 'bo',
    proved: false,
  });
}
