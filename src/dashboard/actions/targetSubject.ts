import { shortArtifact } from '../../domain/artifact/artifact.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import { EMPTY_TARGET } from '../../domain/target/targetState.ts';
import { readWhatServes } from '../../inspection/deployment/deploymentAccess.ts';
import type { TargetView } from '../../messages/target.ts';
import { readKeptTarget } from '../../temporal/history/keptTarget.ts';
import { KEPT, setQuarantine } from '../../temporal/client/intervention/interventionClient.ts';
import {
  isUnanswered,
  rollBack,
  type RollbackTaken,
  setHold,
  viewTarget,
} from '../../temporal/client/target/targetClient.ts';
import { ifSealed } from '../../temporal/client/temporalError.ts';
import type { PageContext } from '../pageContext.ts';
import { servingOf } from '../targets/targetTexts.ts';
import { targetAddress } from '../../domain/dashboard/addresses.ts';
import type { TargetAction } from './actionAddresses.ts';
import type { ActionSubject } from './actionSubject.ts';
import { NEWEST_VERIFIED, targetOrder } from './targetOrders.ts';

export async function targetSubject(
  context: PageContext,
  workflowId: string,
  action: TargetAction,
): Promise<ActionSubject | undefined> {
  const { temporal, watches } = context;
  const snapshot = await watches.snapshot(workflowId);
  if (snapshot === undefined) return undefined;
  const { name } = snapshot;
  const { view, silence } = await freshView(context, workflowId, snapshot.view).catch(
    onSlipwayError(({ code, message, place }) => {
      const hint = `without Temporal: slipway rollback ${name} --break-glass --reason "…"`;
      throw new SlipwayError(code, message, { place, hint });
    }, 'SLIPWAY_TEMPORAL_UNREACHABLE'),
  );
  if (view === undefined) return undefined;
  const { spec } = view.state;
  // The last answer that the page shows may be from before the running release changed what serves.
  const active = action === 'rollback' && spec !== null ? await readWhatServes(context, spec) : undefined;
  const serves = active ?? servingOf({ ...snapshot, view });
  const order = targetOrder({ ...view, name, serves, isRead: active !== undefined }, action);
  return {
    order: silence === null ? order : { ...order, sentences: [silence, ...order.sentences] },
    back: { address: targetAddress(workflowId), name },
    send: async (fields, message, proverFor) => {
      switch (action) {
        case 'rollback': {
          const { to = NEWEST_VERIFIED, serving } = fields;
          const what = to === NEWEST_VERIFIED ? { serving } : { to };
          const { lastRequest } = view.state;
          const prove =
            lastRequest === null ? undefined : proverFor(lastRequest.recordStore, lastRequest.approval);
          const { requestId } = message;
          const identity = await prove?.({ action, workflowId, requestId });
          return rollbackText(name, await rollBack(temporal, workflowId, { ...message, ...what, identity }));
        }
        case 'hold':
        case 'unhold':
          return setHold(temporal, workflowId, action === 'hold', message).then(({ onHold }) =>
            onHold === null
              ? `${KEPT}.`
              : `${name} ${onHold ? 'is on hold: it rejects' : 'accepts'} releases.`,
          );
        case 'quarantine':
        case 'unquarantine': {
          const blocks = action === 'quarantine';
          const quarantine = { ...message, artifact: fields['artifact'] };
          const identity = await setQuarantine(temporal, workflowId, blocks, quarantine);
          return identity === undefined
            ? `${KEPT}.`
            : `${shortArtifact(identity)} is ${blocks ? '' : 'not '}in quarantine on ${name}${blocks ? '' : ' any more'}.`;
        }
      }
    },
  };
}

/** The target's present view; if it does not answer, its last one, and a sentence about that. */
async function freshView(
  { temporal }: PageContext,
  workflowId: string,
  last: TargetView | undefined,
): Promise<{ readonly view: TargetView | undefined; readonly silence: string | null }> {
  try {
    return { view: await viewTarget(temporal, workflowId), silence: null };
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    const silence = `The target does not answer (${error.message}). Temporal keeps your message until a worker runs. If none returns, use: slipway rollback --break-glass.`;
    if (last !== undefined) return { view: last, silence };
    const kept = await readKeptTarget(temporal, workflowId, 1).catch(ifSealed(() => undefined));
    if (kept === undefined) return { view: undefined, silence };
    return {
      view: { state: { ...EMPTY_TARGET, activeRevisionId: kept.servingRevisionId }, running: null },
      silence,
    };
  }
}

function rollbackText(name: string, { disposition, reason, onHold }: RollbackTaken): string {
  const held =
    onHold === null ? '' : ` ${name} is ${onHold ? 'on hold: it rejects releases' : 'not on hold'}.`;
  return `${DISPOSITIONS[disposition]}: ${reason}.${held}`;
}

const DISPOSITIONS: Readonly<Record<RollbackTaken['disposition'], string>> = {
  queued: 'The rollback is accepted',
  preempting: 'The rollback is accepted',
  joined: 'The rollback joins one that was asked for before',
  done: 'Nothing had to be rolled back',
  ignored: 'Nothing was rolled back',
};
