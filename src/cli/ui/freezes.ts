import { SlipwayError } from '../../domain/errors.ts';
import { type FreezeWindow, frozenAt } from '../../domain/freeze/freeze.ts';
import { formatInstant } from '../../domain/freeze/zonedTime.ts';
import type { Output } from '../output.ts';

/**
 * Prints, before anything is packed, how a freeze affects the release. The release checks again later; this early
 * message saves time.
 * @returns SLIPWAY_TARGET_FROZEN if a freeze refuses it, unless it joins what was asked for before; else `undefined`.
 * @throws SlipwayError SLIPWAY_USAGE for an override without a reason.
 */
export function announceFreezes(
  output: Output,
  target: string,
  freezes: readonly FreezeWindow[],
  { overrideFreeze, reason }: { readonly overrideFreeze: boolean; readonly reason: string | undefined },
): SlipwayError | undefined {
  if (overrideFreeze && (reason ?? '').trim() === '') {
    const hint = 'add --reason "…": the record keeps it';
    throw new SlipwayError('SLIPWAY_USAGE', '--override-freeze needs a reason', { hint });
  }
  const frozen = frozenAt(freezes, Date.now());
  if (frozen === null) return undefined;
  const what = `"${target}" is frozen by "${frozen.name}" until ${formatInstant(frozen.until, frozen.timeZone)}`;
  const { then } = frozen;
  if (then === 'refuse' && !overrideFreeze) {
    return new SlipwayError('SLIPWAY_TARGET_FROZEN', what, {
      hint: '--override-freeze --reason "…" releases during the freeze; a rollback is never blocked',
    });
  }
  const until = new Date(frozen.until).toISOString();
  output.event({ event: 'frozen', target, name: frozen.name, until, overridden: overrideFreeze });
  output.warn(`${what}; ${overrideFreeze ? 'the request overrides it' : 'the release waits'}`);
  return undefined;
}

/** Prints that an override had no effect, because the request joined an earlier one. @param what - as in commands. */
export function noteJoined(output: Output, what: string): void {
  const skip = `slipway skip ${what} --freeze`;
  const note = `it was asked for before, so --override-freeze has no effect; if a freeze delays it: ${skip}`;
  output.warn(note);
}
