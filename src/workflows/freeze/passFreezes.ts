import type { Activities } from '../../activities/activities.ts';
import type { Frozen } from '../../domain/freeze/freeze.ts';
import { exactText } from '../../domain/scalars.ts';
import { FREEZE } from '../../domain/intervention/intervention.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { Interventions } from '../intervention/interventions.ts';
import type { Journal } from '../journal.ts';

/**
 * Passes the target's freezes: waits until they end, or ends the release if one of them refuses. A person may
 * override freezes when requesting the release, or later by `skip`.
 *
 * Decision: a release that waits for a freeze is the running one. Later releases wait behind it.
 * @returns when the next freeze may begin, in milliseconds since 1970. `Infinity`: none delays the release any more.
 */
export async function passFreezes(
  journal: Journal,
  request: Pick<ReleaseRequest, 'freezes' | 'overrideFreeze' | 'freezeSkippedBy' | 'requestedBy'>,
  interventions: Interventions,
  called: 'release' | 'promotion' = 'release',
): Promise<number> {
  const { freezes = [], overrideFreeze = false, requestedBy, freezeSkippedBy = requestedBy.who } = request;
  let next = Infinity;
  if (freezes.length === 0) return next;
  await interventions.goOrSkip(FREEZE, async () => {
    for (;;) {
      const overridden = overrideFreeze ? `, overridden by ${freezeSkippedBy}` : '';
      const { frozen, nextAt } = await look(journal, freezes, overridden);
      if (frozen === null || overrideFreeze) {
        next = overrideFreeze ? Infinity : nextAt;
        return;
      }
      const what = frozenText(frozen);
      if (frozen.then === 'refuse') throw interventions.stop(what);
      await interventions.whileFrozen(frozen.until, `${what}: the ${called} waits`);
    }
  });
  return next;
}

function frozenText({ name, until }: Frozen): string {
  return `frozen by "${name}" until ${exactText(new Date(until).toISOString())}`;
}

function look(
  journal: Journal,
  freezes: NonNullable<ReleaseRequest['freezes']>,
  overridden: string,
): ReturnType<Activities['lookAtFreezes']> {
  return journal.step('freeze', undefined, async (activities) => {
    const seen = await activities.lookAtFreezes({ freezes, at: Date.now() });
    const { frozen, attempt } = seen;
    const detail = frozen === null ? 'no freeze is in force' : `${frozenText(frozen)}${overridden}`;
    return { result: seen, attempt, detail };
  });
}
