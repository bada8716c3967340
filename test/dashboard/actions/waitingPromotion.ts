import type { PageContext } from '../../../src/dashboard/pageContext.ts';
import { promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import { startingProgress } from '../../../src/domain/release/release.ts';
import { NOW, request } from '../../domain/target/targets.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';
import { payloads } from '../../temporal/history/events.ts';

const { target, requestedBy } = request('a');
const PROMOTION = {
  name: 'nightly',
  from: { ...target, name: 'canary' },
  to: target,
  freezes: [],
  differences: [],
  release: { checks: [] },
  soakMs: 0,
};
export const PROMOTION_ID = promotionWorkflowId(PROMOTION);

async function* none() {
  yield* await Promise.resolve([]);
}

const WAITING = { for: 'approval', since: NOW, until: NOW, note: '' } as const;

/**
 * A page on a Temporal where the given run of a promotion waits for approval, and is not listed yet.
 * @param update - answers the messages to the promotion.
 * @param read - called before each read.
 */
export function waitingPromotion(
  runId: string,
  update: (...update: unknown[]) => Promise<unknown>,
  read: () => void = () => undefined,
): PageContext {
  const input = payloads({ request: { ...PROMOTION, requestedBy } });
  const started = {
    eventTime: { seconds: 1, nanos: 0 },
    workflowExecutionStartedEventAttributes: { originalExecutionRunId: runId, input },
  };
  const progress = startingProgress({ releaseId: 'nightly', kind: 'promotion', startedAt: NOW });
  const answer = async <T>(value: T): Promise<T> => {
    await Promise.resolve();
    read();
    return value;
  };
  const handle = {
    describe: () => answer({ status: { name: 'RUNNING' } }),
    query: () => answer({ ...progress, waiting: WAITING }),
    executeUpdate: update,
  };
  const temporal = answeringTemporal({
    workflow: { getHandle: () => handle, list: none },
    schedule: { list: none },
    workflowService: { getWorkflowExecutionHistory: () => answer({ history: { events: [started] } }) },
  });
  return { temporal } as unknown as PageContext;
}
