import { CodedError } from '@slipway/contract/codedError';

import type { Actor } from '../../domain/actor.ts';
import { hasCode, SlipwayError } from '../../domain/errors.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';
import { isSealed } from '../../temporal/client/temporalError.ts';
import type { Output } from '../output.ts';

/** The exit code of a command that stops following while the release continues (design, "The command"). */
export const GAVE_UP = 5;

const GAVE_UP_BECAUSE = {
  timeout: 'timed out',
  stopped: 'stopped watching',
  unknown: 'the target no longer knows it',
} as const;

/**
 * Reports that the command stopped following.
 * @param see - the command that shows how it continues.
 * @param became - what happens to the release, if the target knows it.
 */
export function printGaveUp(
  output: Output,
  why: keyof typeof GAVE_UP_BECAUSE,
  see: string,
  became: string,
): string {
  const after = why === 'unknown' ? '' : `; ${became}`;
  const message = `${GAVE_UP_BECAUSE[why]}${after}. See: ${see}`;
  output.event({ event: 'gave_up', why, exitCode: GAVE_UP });
  output.print(output.style.warn(message));
  return message;
}

/**
 * The error if Temporal's answers can no longer be read while something is followed: a key is missing, or Temporal
 * rejects the credentials. What was followed continues, so the exit code is not the one of a command that began nothing.
 * @param what - what was followed.
 * @param next - the command that follows it again.
 */
export function whileItContinues(error: unknown, what: string, next: string): unknown {
  const isUnreadable = isSealed(error) || hasCode(error, 'SLIPWAY_TEMPORAL_UNREACHABLE');
  if (!isUnreadable) return error;
  const { code, message, place, hint } = error;
  const then = `then: ${next}`;
  return new CodedError(code, GAVE_UP, `${message}; the ${what} continues`, {
    place,
    hint: hint === undefined ? then : `${hint}; ${then}`,
    cause: error,
  });
}

interface Abortable {
  /** A release's id, or a promotion's name. */
  readonly id: string;
  /** The command that aborts it later: `slipway abort staging`. */
  readonly command: string;
  readonly requestedBy: Actor;
  readonly ask: (by: Actor) => Promise<Intervened>;
}

/** Aborts what is followed, because the command was interrupted. @returns the result as text, for the last line. */
export async function abortOnInterrupt(
  output: Output,
  { id, command, requestedBy, ask }: Abortable,
): Promise<string> {
  output.note(`asking ${id} to abort`);
  try {
    const taken = await ask({ ...requestedBy, reason: 'the command that followed it was interrupted' });
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
