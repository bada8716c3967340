import type { PageContext } from '../../../src/dashboard/pageContext.ts';
import { startingProgress } from '../../../src/domain/release/release.ts';
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

/**
 * A page on a Temporal where the given run of a promotion waits for approval.
 * @param update - answers the messages to the promotion.
 * @param read - called before each read.
 */
export function waitingPromotion(
  runId: string,
  update: (...update: unknown[]) => Promise<unknown>,
  read: () => void = () => undefined,
): PageContext {
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
  const client = {
    workflow: { getHandle: () => handle },
    workflowService: { getWorkflowExecutionHistory: () => answer({ history: { events: [started] } }) },
    withDeadline: (_: number, ask: () => unknown) => ask(),
  };
  const temporal = { client, settings: { namespace: 'default' } };
  return { temporal } as unknown as PageContext;
}
