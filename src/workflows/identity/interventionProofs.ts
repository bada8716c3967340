import { CancellationScope, condition, Trigger, workflowInfo } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { ApprovalPolicy, Intervention } from '../../domain/intervention/intervention.ts';
import { now } from '../journal.ts';
import { type Asked, proveIdentity, proveMeanwhile } from './proveIdentity.ts';

const OVER = 'its approval is not waited for any more';
/** How long a rejected release waits for the proof of who rejected it, in milliseconds. */
const REJECTION_MS = 10_000;

/** Verifies who asked for a release or a promotion, who approves it, and who sends it other interventions. */
export class InterventionProofs {
  readonly #store: string;
  /** Resolved when the wait for approvals ends. */
  #over = new Trigger<string>();
  /** The ids of the messages whose proofs are being verified. */
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
