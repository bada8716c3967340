import { SlipwayError } from '../../domain/errors.ts';
import { frozenAt, nextFreeze } from '../../domain/freeze/freeze.ts';
import { isTimeZone } from '../../domain/freeze/zonedTime.ts';
import type { Activities } from '../activities.ts';
import type { Untracked } from '../track.ts';

/** Evaluates freezes. An activity, because the time zone data is the worker's: the history must have the result. */
export function freezeActivities(): Untracked<Pick<Activities, 'lookAtFreezes'>> {
  return {
    lookAtFreezes: ({ freezes, at }) => {
      const unknown = freezes.find(({ timeZone }) => !isTimeZone(timeZone));
      if (unknown !== undefined) {
        throw new SlipwayError(
          'SLIPWAY_CONFIG_INVALID',
          `freeze "${unknown.name}": this worker knows no time zone "${unknown.timeZone}"`,
        );
      }
      return Promise.resolve({ frozen: frozenAt(freezes, at), nextAt: nextFreeze(freezes, at) });
    },
  };
}
