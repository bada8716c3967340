import type { Actor } from '../../domain/actor.ts';
import type { RollbackRequest } from '../../domain/release/release.ts';
import { now } from '../journal.ts';
import { proveMeanwhile } from './proveIdentity.ts';

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
