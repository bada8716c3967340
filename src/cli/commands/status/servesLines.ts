import { type DescribedRevision, revisionText } from '../../../domain/deployment/revisionName.ts';
import { formatDuration } from '../../../domain/duration.ts';
import type { DeploymentSeen } from '../../../inspection/deployment/seeDeployment.ts';
import type { Style } from '../../ui/style.ts';

/** What a status knows about the serving revision. */
export interface Serves {
  /** The control plane's answer, or a sentence about why there is none. */
  readonly deployment: DeploymentSeen | string;
  /** The serving revision, as the target last knew. */
  readonly known: string | null;
  /** The revision that `rollback --break-glass` restored from this machine. */
  readonly restoredHere?: string;
}

/** The serving revision, for people: by the control plane, else as this machine or the target last knew it. */
export function servesLines(
  { deployment, known, restoredHere }: Serves,
  describe: (revisionId: string) => string,
  style: Style,
): readonly string[] {
  const lastKnown = known === null ? 'not known' : `${describe(known)}, as the target last knew`;
  if (typeof deployment === 'string') {
    const serves =
      restoredHere === undefined || restoredHere === known
        ? [`  serves   ${lastKnown}`]
        : [
            `  serves   ${describe(restoredHere)}, restored by break-glass on this machine`,
            `  known    ${lastKnown}`,
          ];
    return [...serves, `  ${style.warn(`what serves is not known: ${deployment}`)}`];
  }
  const { activeRevisionId: active, latestRevisionId: latest } = deployment;
  return [
    `  serves   ${active === null ? 'nothing' : describe(active)}, according to the control plane`,
    ...(latest === null || latest === active ? [] : [`  newest   ${describe(latest)}`]),
    ...(known === null || known === active ? [] : [`  known    ${lastKnown}`]),
  ];
}

/** A revision as text, with how long ago its checks ended. `now` in milliseconds since 1970. */
export function describedText(revision: DescribedRevision, now: number): string {
  const { verified, at, copyOf } = revision;
  const ago = at === null ? '' : ` ${formatDuration(Math.max(now - Date.parse(at), 0))} ago`;
  const copy = copyOf === null ? '' : `, a copy of revision ${copyOf}`;
  return `${revisionText(revision)}${copy}${verified === null ? '' : verifiedText(verified, ago)}`;
}

function verifiedText(verified: boolean, ago: string): string {
  if (verified) return `, verified${ago}`;
  return ago === '' ? ', not verified yet' : `, found unverified${ago}`;
}
