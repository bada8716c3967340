import { type Baseline, type KnownRevision } from './release.ts';
import { type TargetSpec } from './targetSpec.ts';

/**
 * What a person should do now that Slipway could not put a good revision back: the state as it is known, and the
 * commands, with and without Slipway. Never a key's value.
 */
export function restoreInstructions(situation: {
  readonly target: TargetSpec;
  readonly deploymentId: string | null;
  readonly baseline: Baseline | null;
  /** Oldest first. */
  readonly known: readonly KnownRevision[];
  readonly reason: string;
}): string {
  const { target, deploymentId, baseline, known, reason } = situation;
  const best = newestGood(known) ?? baseline?.revisionId ?? null;
  const lines = [
    `Target "${target.name}" needs a person: ${reason}.`,
    `1. Look: slipway status ${target.name}`,
    `   and the deployment itself: GET ${target.controlPlane}/v2/deployments/${deploymentId ?? '(unknown)'}`,
  ];
  if (best === null) {
    lines.push('2. No earlier revision is known to be good: release a good artifact.');
  } else {
    lines.push(`2. Put revision ${best} back: slipway rollback ${target.name} --to ${best} --reason "…"`);
  }
  if (best !== null && deploymentId !== null) {
    lines.push(
      `   or, without Slipway: curl -X POST -H "X-Api-Key: $${keyVariable(target)}" ${target.controlPlane}/v2/deployments/${deploymentId}/revisions/${best}/redeploy`,
    );
  }
  return lines.join('\n');
}

/** The newest revision that was verified, by the newest word on each. */
function newestGood(known: readonly KnownRevision[]): string | undefined {
  const newestWord = new Map(known.map((revision) => [revision.revisionId, revision]));
  return [...newestWord.values()].findLast((revision) => revision.verified && !revision.quarantined)
    ?.revisionId;
}

function keyVariable(target: TargetSpec): string {
  const { from } = target.apiKey;
  return from.startsWith('env:') ? from.slice('env:'.length) : 'API_KEY';
}
