import { previousVersion, type Routing, type VersionStatus } from '../../../domain/versions/routing.ts';
import { counted } from '../../ui/text.ts';

/** A version in the output of `slipway worker rollout`. */
export interface SeenVersion {
  readonly buildId: string;
  readonly status: VersionStatus;
  /** Its share of new work while it is ramping. */
  readonly percentage: number | null;
  /** The workflows of running releases and rollbacks that are pinned to it. */
  readonly releases: readonly string[];
  /** Whether it is the version of this installation. */
  readonly own: boolean;
}

const MEANINGS: Readonly<Record<VersionStatus, string>> = {
  inactive: 'takes no work yet',
  current: 'takes new work',
  ramping: 'takes a share of new work',
  draining: 'takes no new work: keep its workers',
  drained: 'takes no work: its workers can be stopped',
};

/** One line about a version. */
export function versionLine({ buildId, status, percentage, releases, own }: SeenVersion): string {
  const share = percentage === null ? '' : ` (${percentage} %)`;
  // Temporal updates the drainage status only every few minutes.
  const meaning = status === 'draining' && releases.length === 0 ? 'no release runs on it' : MEANINGS[status];
  const pinned = releases.length === 0 ? '' : `; ${counted(releases.length, 'running release')}`;
  return `${buildId}  ${status}${share}: ${meaning}${pinned}${own ? '; this installation' : ''}`;
}

/**
 * The next commands of a rollout.
 * @param own - the version of this installation.
 */
export function nextSteps(routing: Routing, own: string): readonly string[] {
  const { current, ramping, versions } = routing;
  const previous = previousVersion(routing);
  // Only a version's own installation can replay on it.
  const back =
    previous === undefined
      ? []
      : [`Go back to ${previous}, from its installation: slipway worker rollout --back`];
  if (ramping !== undefined) {
    const from = ramping.buildId === own ? '' : ', from its installation';
    return [
      `Finish the ramp${from}: slipway worker rollout ${ramping.buildId} --current`,
      `End it: slipway worker rollout --back`,
    ];
  }
  if (own === current || !versions.some(({ buildId }) => buildId === own)) return back;
  return [
    `Try ${own} on a share: slipway worker rollout --ramp 10`,
    `Or at once: slipway worker rollout --current`,
  ];
}
