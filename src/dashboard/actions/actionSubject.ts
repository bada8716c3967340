import { onSlipwayError } from '../../domain/errors.ts';
import type { Prove } from '../../domain/identity/statement.ts';
import type { ApprovalPolicy, InterventionRecord } from '../../domain/intervention/intervention.ts';
import type { Sender } from '../../messages/fields.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';

/** Makes proofs of identity for a message; `undefined`: the approval requires no proof. */
type ProverFor = (store: string, approval: ApprovalPolicy | undefined) => Prove | undefined;

export interface ActionSubject {
  readonly order: Order;
  readonly back: { readonly address: string; readonly name: string };
  /**
   * Sends the message. `fields`: those of the form. `proverFor`: makes the proofs of identity.
   * @returns the result, in one or two sentences.
   * @throws SlipwayError if it is refused.
   */
  readonly send: (
    fields: Readonly<Record<string, string>>,
    message: Required<Sender>,
    proverFor: ProverFor,
  ) => Promise<string>;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly detail?: string;
}

export interface Order {
  readonly title: string;
  /** The present state, and the state after the action: one sentence each. */
  readonly sentences: readonly string[];
  /** What must be chosen, as a field of the form. The first choice is the default. Absent: nothing. */
  readonly choose?: { readonly field: string; readonly legend: string; readonly choices: readonly Choice[] };
  readonly button: string;
  readonly carried?: Readonly<Record<string, string>>;
  /** Identifies the hold, pause or question that the person has read. A form about an earlier one is refused. */
  readonly answers?: string;
  /** Why the action makes no sense now. Then there is no form. */
  readonly problem?: string;
}

interface Sending {
  readonly button: string;
  readonly requestId: string;
  readonly send: () => Promise<Pick<Intervened, 'note'>>;
  readonly ended: () => Promise<readonly InterventionRecord[] | undefined>;
}

/**
 * Sends an intervention. If a person pressed twice and the first message ended the release, the result is that of the
 * first.
 */
export async function sendOnce({ button, requestId, send, ended }: Sending): Promise<string> {
  const { note } = await send().catch(
    onSlipwayError(async (error) => {
      const before = (await ended())?.find(({ id, taken }) => taken && id === requestId);
      if (before === undefined) throw error;
      return before;
    }, 'SLIPWAY_WRONG_MOMENT'),
  );
  return `${button}: ${note}.`;
}
