import {
  ActivityCancellationType,
  type ActivityOptions,
  CancellationScope,
  condition,
  Trigger,
  workflowInfo,
} from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { Statement } from '../../domain/identity/statement.ts';
import type { ApprovalPolicy, Intervention } from '../../domain/intervention/intervention.ts';
import type { RollbackRequest } from '../../domain/release/release.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { throughServer } from '../localFirst.ts';

/** A statement to prove, and its proof. */
export interface Asked {
  readonly statement: Statement;
  /** The record with the proof; absent if there is none. */
  readonly identity?: string;
  /** When it arrived: ISO 8601. */
  readonly at: string;
}

const OPTIONS: ActivityOptions = {
  summary: 'verify who asks',
  startToCloseTimeout: 30_000,
  scheduleToCloseTimeout: 120_000,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: 500, maximumInterval: 15_000 },
};

/**
 * Verifies who asked for something.
 * @param store - the artifact store that has the proof.
 * @returns the actor with the proved identity, or why it is not proved.
 * @throws CancelledFailure if it is canceled.
 */
async function proveIdentity(
  store: string,
  by: Actor,
  { statement, identity: name, at }: Asked,
): Promise<(Required<Pick<Actor, 'proved'>> & Actor) | string> {
  if (name === undefined) {
    return `${by.who} did not prove their identity: sign in with "slipway login", then try again`;
  }
  try {
    const { identity } = await throughServer('proveIdentity', OPTIONS)({ store, name, statement, at });
    return { ...by, ...identity };
  } catch (error) {
    const { canceled, message } = explain(error);
    if (canceled) throw error;
    return message;
  }
}

/**
 * Verifies who asked for something that is already being done. Nothing waits for it. If the proof fails, the name
 * stays claimed.
 * @param onProved - called with the actor and the proved identity.
 */
async function proveMeanwhile(
  store: string,
  by: Actor,
  asked: Asked,
  onProved: (proved: Actor) => void,
): Promise<void> {
  try {
    const proved = await CancellationScope.nonCancellable(() => proveIdentity(store, by, asked));
    if (typeof proved !== 'string') onProved(proved);
  } catch {
    // Canceled with the workflow.
  }
}

/**
 * The proof of who asked for a rollback, verified during the rollback. Nothing waits for it. If it fails, or is not
 * verified when the rollback ends, the record has the claimed name.
 */
export class RollbackProof {
  #requestId: string | undefined;
  #proved: Actor | undefined;

  /**
   * Starts to verify the proof, if the request names one.
   * @param store - the artifact store that has the proof.
   * @param target - the workflow id of the target that got the request.
   */
  begin({ requestId, requestedBy, identity }: RollbackRequest, store: string, target: string): void {
    if (identity === undefined || this.#requestId !== undefined) return;
    this.#requestId = requestId;
    const statement = { action: 'rollback', workflowId: target, requestId } as const;
    void proveMeanwhile(store, requestedBy, { statement, identity, at: now() }, (proved) => {
      this.#proved = proved;
    });
  }

  /** The request for records: with the proved identity, if any, and without the name of the proof. */
  recorded({ identity: _, ...request }: RollbackRequest): RollbackRequest {
    const isProved = this.#proved !== undefined && this.#requestId === request.requestId;
    return isProved ? { ...request, requestedBy: this.#proved ?? request.requestedBy } : request;
  }
}

const OVER = 'its approval is not waited for any more';
/** How long a rejected release waits for the proof of who rejected it, in milliseconds. */
const REJECTION_MS = 10_000;

/** Verifies who asked for a release or a promotion, who approves it, and who sends it other interventions. */
export class InterventionProofs {
  readonly #store: string;
  #over = new Trigger<string>();
  readonly #underWay = new Set<string>();

  /** @param store - the artifact store that has the proofs. */
  constructor(store: string) {
    this.#store = store;
  }

  /**
   * Verifies who asked. Otherwise a person could ask under another name and approve under their own.
   * @returns the actor, or why the identity is not proved.
   */
  async requester(by: Actor, asked: Asked | undefined): Promise<Actor | string> {
    return asked === undefined
      ? 'it cannot be proved who asked for it'
      : proveIdentity(this.#store, by, asked);
  }

  /**
   * Waits for approvals. When the wait ends, proofs that are still being verified are abandoned, so that nothing
   * waits for an issuer. Their activities are not canceled, because Core reports a canceled activity differently live
   * and in a replay.
   */
  while<T>({ identity }: ApprovalPolicy, wait: () => Promise<T>): Promise<T> {
    if (identity === undefined) return wait();
    const over = (this.#over = new Trigger<string>());
    return wait().finally(() => {
      over.resolve(OVER);
    });
  }

  /** Whether a message is being verified: then it was sent twice. */
  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  /** Verifies who approves. @returns the actor, or why the identity is not proved. */
  async approver(said: Intervention): Promise<Actor | string> {
    this.#underWay.add(said.id);
    try {
      const proving = CancellationScope.nonCancellable(() =>
        proveIdentity(this.#store, said.by, askedBy(said)),
      );
      return await Promise.race([proving, this.#over]);
    } catch {
      // The release was stopped, and with it the wait.
      return OVER;
    } finally {
      this.#underWay.delete(said.id);
    }
  }

  /**
   * Verifies who sent another intervention, which is accepted at once under its claimed name.
   * @param onProved - called with the actor and the proved identity.
   */
  meanwhile(said: Intervention, onProved: (proved: Actor) => void): void {
    this.#underWay.add(said.id);
    void proveMeanwhile(this.#store, said.by, askedBy(said), onProved).finally(() => {
      this.#underWay.delete(said.id);
    });
  }

  /** Waits for the proof of a rejection, which ends the release, or for a rollback. @throws CancelledFailure */
  async awaitRejection({ id }: Intervention): Promise<void> {
    if (this.isUnderWay(id)) await condition(() => !this.isUnderWay(id), REJECTION_MS);
  }
}

function askedBy({ id: requestId, kind: action, identity }: Intervention): Asked {
  return {
    statement: { action, workflowId: workflowInfo().workflowId, requestId },
    identity,
    at: now(),
  };
}
