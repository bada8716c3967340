import type { Actor } from '../actor.ts';
import type { Waiting } from '../release/release.ts';
import type { TargetSpec } from '../target/targetSpec.ts';
import type { NoticeContent } from './notice.ts';
import { aboutTarget } from './targetNotices.ts';

/** What waits. */
export interface Waiter extends Pick<NoticeContent, 'name' | 'artifact' | 'commit'> {
  readonly kind: 'release' | 'promotion';
  readonly target: TargetSpec;
  readonly requestedBy: Actor;
}

/** What receivers are told when something waits for a person. */
export function waitingNotice(
  { kind, name, target, artifact, commit, requestedBy }: Waiter,
  { until, note }: Waiting,
): NoticeContent {
  return {
    ...aboutTarget(target, requestedBy),
    event: kind === 'release' ? 'release_waiting' : 'promotion_waiting',
    ...{ kind, name, artifact, commit },
    reason: `${note}, until ${until}`,
  };
}
