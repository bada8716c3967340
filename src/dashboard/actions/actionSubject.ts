import type { Prove } from '../access/signedInIdentity.ts';
import type { Order } from './order.ts';

/** Who sends what a person asks for, with the id by which a repeated one is recognized. */
export interface Message {
  readonly who: string;
  readonly from: string;
  readonly reason: string;
  readonly requestId: string;
}

/** What an action is about, and how it is done. */
export interface ActionSubject {
  readonly order: Order;
  readonly back: { readonly address: string; readonly name: string };
  /**
   * Does it. `fields`: those of the form. `prove`: proves who asks.
   *
   * @returns the result, in one or two sentences.
   * @throws SlipwayError its refusal.
   */
  readonly send: (
    fields: Readonly<Record<string, string>>,
    message: Message,
    prove: Prove,
  ) => Promise<string>;
}
