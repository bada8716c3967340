import type { Prove } from '../../domain/identity/statement.ts';
import type { ApprovalPolicy } from '../../domain/intervention/intervention.ts';
import type { Order } from './order.ts';

/** Who sends a message, and the id that makes a repeated message recognizable. */
export interface Message {
  readonly who: string;
  readonly from: string;
  readonly reason: string;
  readonly requestId: string;
}

/**
 * Makes proofs of identity for a message; `undefined`: the approval requires no proof.
 *
 * @param store - the artifact store that the worker reads.
 */
type ProverFor = (store: string, approval: ApprovalPolicy | undefined) => Prove | undefined;

/** An action: what it applies to, and how to send it. */
export interface ActionSubject {
  readonly order: Order;
  readonly back: { readonly address: string; readonly name: string };
  /**
   * Sends the message. `fields`: those of the form. `proverFor`: makes the proofs of identity.
   *
   * @returns the result, in one or two sentences.
   * @throws SlipwayError if it is refused.
   */
  readonly send: (
    fields: Readonly<Record<string, string>>,
    message: Message,
    proverFor: ProverFor,
  ) => Promise<string>;
}
