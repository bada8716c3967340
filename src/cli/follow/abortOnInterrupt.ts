import { SlipwayError } from '../../domain/errors.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';
import type { Output } from '../output.ts';

/** What an interrupt asks to abort, and how. */
export interface Abortable {
  /** A release's id, or a promotion's name. */
  readonly id: string;
  /** What says the same later: `slipway abort staging`. */
  readonly command: string;
  /** Asks it. */
  readonly ask: () => Promise<Intervened>;
}

/**
 * Asks what is followed to abort, because the command was interrupted.
 *
 * @returns what came of it, in words: they stand in the last line.
 */
export async function abortOnInterrupt(output: Output, { id, command, ask }: Abortable): Promise<string> {
  output.note(`asking ${id} to abort; a second interrupt exits at once`);
  try {
    const taken = await ask();
    output.event({ event: 'intervention', kind: 'abort', ...taken });
    return `${id} was asked to abort: ${taken.note}`;
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const { code, message } = error;
    const failed = { disposition: 'failed', code, note: message, via: null } as const;
    output.event({ event: 'intervention', kind: 'abort', releaseId: null, ...failed });
    return `${id} could not be asked to abort (${message}) and continues; try: ${command}`;
  }
}

/** Why an abort was asked for, as it stands in the record. */
export const INTERRUPTED_REASON = 'the command that followed it was interrupted';
