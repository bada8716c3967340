import { CancellationScope, Trigger, workflowInfo } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { ApprovalPolicy, Intervention } from '../../domain/intervention/intervention.ts';
import { now } from '../journal.ts';
import { type Asked, proveIdentity } from './proveIdentity.ts';

const OVER = 'its approval is not waited for any more';

/** Proofs of who asked for a release, and of who approves it. */
export class ApprovalProofs {
  readonly #store: string;
  /** Resolved once approvals are not waited for any more. */
  #over = new Trigger<string>();
  /** The ids of the approvals whose proofs are being verified. */
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

  /** Whether an approval is being verified: it was sent twice. */
  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  /** Proves who approves. @returns the actor, or why nothing was proved. */
  async approver({ id, by, identity }: Intervention): Promise<Actor | string> {
    const statement = { action: 'approve', workflowId: workflowInfo().workflowId, requestId: id } as const;
    const asked = { statement, identity, at: now() };
    this.#underWay.add(id);
    try {
      const proving = CancellationScope.nonCancellable(() => proveIdentity(this.#store, by, asked));
      return await Promise.race([proving, this.#over]);
    } catch {
      // The release was stopped, and with it what it waited for.
      return OVER;
    } finally {
      this.#underWay.delete(id);
    }
  }
}
