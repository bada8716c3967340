import type { Prove } from '../../domain/identity/statement.ts';
import type { ApprovalPolicy } from '../../domain/intervention/intervention.ts';
import type { Order } from './order.ts';

/** Who sends what a person asks for, with the id by which a repeated one is recognized. */
export interface Message {
  readonly who: string;
  readonly from: string;
  readonly reason: string;
  readonly requestId: string;
}

/**
 * What proves who asks for something; `undefined`: the approval asks for no proof.
 *
 * @param store - the artifact store that the worker looks into.
 */
type ProverFor = (store: string, approval: ApprovalPolicy | undefined) => Prove | undefined;

/** What an action is about, and how it is done. */
export interface ActionSubject {
  readonly order: Order;
  readonly back: { readonly address: string; readonly name: string };
  /**
   * Does it. `fields`: those of the form. `proverFor`: what proves who asks.
   *
   * @returns the result, in one or two sentences.
   * @throws SlipwayError its refusal.
   */
  readonly send: (
    fields: Readonly<Record<string, string>>,
    message: Message,
    proverFor: ProverFor,
  ) => Promise<string>;
}
