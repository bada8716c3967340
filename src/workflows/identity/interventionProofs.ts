import { CancellationScope, condition, Trigger, workflowInfo } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { ApprovalPolicy, Intervention } from '../../domain/intervention/intervention.ts';
import { now } from '../journal.ts';
import { type Asked, proveIdentity, proveMeanwhile } from './proveIdentity.ts';

const OVER = 'its approval is not waited for any more';
/** How long a release that was rejected waits for the proof of who rejected it, in milliseconds. */
const REJECTION_MS = 10_000;

/** Proofs of who asked for a release or a promotion, of who approves it, and of who says anything else to it. */
export class InterventionProofs {
  readonly #store: string;
  /** Resolved once approvals are not waited for any more. */
  #over = new Trigger<string>();
  /** The ids of the messages whose proofs are being verified. */
  readonly #underWay = new Set<string>();

  /** @param store - the artifact store that has the proofs. */
  constructor(store: string) {
    this.#store = store;
  }

  /**
   * Proves who asked: otherwise that person could approve under their own name.
   *
   * @returns the actor, or why nothing was proved.
   */
  async requester(by: Actor, asked: Asked | undefined): Promise<Actor | string> {
    return asked === undefined
      ? 'it cannot be proved who asked for it'
      : proveIdentity(this.#store, by, asked);
  }

  /**
   * Waits for approvals. Proofs that are under way when that ends are given up: nothing waits for an issuer. Their activities are
   * left alone, not canceled: how Core reports a canceled activity differs between a live run and a rebuild.
   */
  while<T>({ identity }: ApprovalPolicy, wait: () => Promise<T>): Promise<T> {
    if (identity === undefined) return wait();
    const over = (this.#over = new Trigger<string>());
    return wait().finally(() => {
      over.resolve(OVER);
    });
  }

  /** Whether a message is being verified: it was sent twice. */
  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  /** Proves who approves. @returns the actor, or why nothing was proved. */
  async approver(said: Intervention): Promise<Actor | string> {
    this.#underWay.add(said.id);
    try {
      const proving = CancellationScope.nonCancellable(() =>
        proveIdentity(this.#store, said.by, askedBy(said)),
      );
      return await Promise.race([proving, this.#over]);
    } catch {
      // The release was stopped, and with it what it waited for.
      return OVER;
    } finally {
      this.#underWay.delete(said.id);
    }
  }

  /**
   * Proves who says anything else, which is taken at once under the name that it claims.
   *
   * @param onProved - called with the actor and what was proved.
   */
  meanwhile(said: Intervention, onProved: (proved: Actor) => void): void {
    this.#underWay.add(said.id);
    void proveMeanwhile(this.#store, said.by, askedBy(said), onProved).finally(() => {
      this.#underWay.delete(said.id);
    });
  }

  /**
   * Waits for the proof of a rejection, since it is what ends the release. A rollback ends the wait.
   *
   * @throws CancelledFailure
   */
  async ofRejection({ id }: Intervention): Promise<void> {
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
