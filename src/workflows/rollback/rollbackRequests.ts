import { CancellationScope } from '@temporalio/workflow';

import { copyMadeElsewhere, type DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { findRevision, noRevision } from '../../domain/deployment/revisionName.ts';
import type { ReleaseRequest, RollbackRequest } from '../../domain/release/release.ts';
import {
  dependsOnWhatServes,
  firstAnswer,
  keepAnswer,
  requestRollback,
  type RollbackTaken,
} from '../../domain/rollback/targetRollback.ts';
import {
  ignoreMessage,
  type Lookup,
  noteAccepted,
  type RollbackAnswer,
  type TargetState,
} from '../../domain/target/targetState.ts';
import { now } from '../journal.ts';
import { lookAtDeployment, ROLLBACK_LOOK_MS, whyNoRevision } from '../target/looks.ts';
import type { Taken, TargetCore } from '../target/targetCore.ts';

/** Handles rollback requests. Reads the named revision, or what serves, before it holds or stops anything. */
export class RollbackRequests {
  readonly #target: TargetCore;
  /** By request id, because a client that does not wait for the answer sends the same request as a signal. */
  readonly #taking = new Map<string, Promise<Taken<RollbackAnswer>>>();
  /** Those that came as signals: nobody sends them again. By request id. */
  readonly #signaled = new Map<string, RollbackRequest>();
  #looking: ReturnType<typeof lookAtDeployment> | undefined;

  constructor(target: TargetCore) {
    this.#target = target;
  }

  lookUp(requestId: string): Lookup | undefined {
    if (this.#taking.has(requestId)) return LOOKING;
    return firstAnswer(this.#target.state, requestId);
  }

  /** The signaled requests that have no answer yet. A run that takes over must take them. */
  get signaled(): readonly RollbackRequest[] {
    return [...this.#signaled.values()];
  }

  /** Takes what an earlier run was about to answer when it ended. */
  async takeOver(signaled: readonly RollbackRequest[]): Promise<void> {
    const takeOne = async (request: RollbackRequest): Promise<void> => {
      const taken = await this.take(request, 'signal');
      if ('refused' in taken) this.#target.ignore('rollback', taken.refused);
    };
    await CancellationScope.nonCancellable(() => Promise.all(signaled.map(takeOne)));
  }

  take(request: RollbackRequest, origin: 'update' | 'signal'): Promise<Taken<RollbackAnswer>> {
    const { requestId } = request;
    if (origin === 'signal') this.#signaled.set(requestId, request);
    const same = this.#taking.get(requestId);
    if (same !== undefined) return same;
    const taken = this.#take(request).finally(() => {
      this.#taking.delete(requestId);
      this.#signaled.delete(requestId);
    });
    this.#taking.set(requestId, taken);
    return taken;
  }

  async #take(asked: RollbackRequest): Promise<Taken<RollbackAnswer>> {
    const target = this.#target;
    const { lastRequest, lastGood } = target.state;
    const meant = asked.to === undefined ? undefined : findRevision(target.state, asked.to);
    if (meant !== undefined && 'problem' in meant) return this.#refuse(asked, meant.problem);
    if (meant !== undefined && 'askFor' in meant && lastRequest !== null) {
      const problem = await whyNoRevision(lastRequest, lastGood, meant.askFor);
      if (problem !== undefined) return this.#refuse(asked, noRevision(target.state, meant.askFor, problem));
    }
    const to = meant && ('askFor' in meant ? meant.askFor : meant.revisionId);
    const request = { ...asked, to };
    const looks = lastRequest !== null && dependsOnWhatServes(target, request);
    const deployment = looks ? await this.#lookAtWhatServes(lastRequest) : undefined;
    const active = deployment === undefined ? undefined : (deployment?.activeRevisionId ?? null);
    const { running } = target;
    const state = withCopy(target.state, deployment ?? null);
    const taken = requestRollback({ state, running, now: now(), active }, request);
    const { answer, preempt } = taken;
    target.change(keepAnswer(recorded(taken, request), asked.requestId, { state: 'answered', answer }));
    if (preempt !== undefined) await target.preempt(preempt);
    return { answer };
  }

  #refuse({ requestId }: RollbackRequest, reason: string): Taken<RollbackAnswer> {
    this.#target.change(keepAnswer(this.#target.state, requestId, { state: 'refused', reason }));
    return { refused: reason };
  }

  /** Reads what serves from the control plane. Requests that arrive together share one read. */
  #lookAtWhatServes(lastRequest: ReleaseRequest): ReturnType<typeof lookAtDeployment> {
    const { lastGood } = this.#target.state;
    this.#looking ??= lookAtDeployment(lastRequest, ROLLBACK_LOOK_MS, lastGood).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }
}

/** The state with the revision that serves, if another tool's redeploy has copied it from a known one. */
function withCopy(state: TargetState, deployment: DeploymentSnapshot | null): TargetState {
  const copy = deployment === null ? [] : copyMadeElsewhere(state.known, deployment);
  return copy.length === 0 ? state : { ...state, known: [...state.known, ...copy] };
}

const LOOKING: Lookup = { state: 'queued', reason: 'the target asks the control plane first' };

/** The state after a request. Records the request unless it joined an earlier one. */
function recorded(
  { state, answer: { disposition, reason } }: RollbackTaken,
  { requestedBy: by }: RollbackRequest,
): TargetState {
  const at = now();
  if (disposition === 'ignored') return ignoreMessage(state, 'rollback', reason, at);
  return disposition === 'joined'
    ? state
    : noteAccepted(state, { at, message: 'rollback', by, note: reason });
}
