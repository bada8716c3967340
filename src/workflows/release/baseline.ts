import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import type { Baseline } from '../../domain/release/release.ts';
import { baselineInstead } from '../../domain/target/lateRevisions.ts';
import { reachSameAgent, type TargetSpec } from '../../domain/target/targetSpec.ts';
import { Asked, runChecks } from '../check/bringUp.ts';
import { explain } from '../failure.ts';
import { type Journal, now } from '../journal.ts';
import { activitiesOf } from '../steps.ts';
import type { Run } from './run.ts';

/**
 * Records what serves before anything is changed. A revision that the target does not know, on a deployment made
 * elsewhere, is checked once, to know whether it is worth returning to.
 */
export async function recordBaseline(
  { input, request, journal, knownRevisions, passed, foundBefore }: Run,
  deployment: DeploymentSnapshot,
  created: boolean,
): Promise<Baseline> {
  const revisionId = deployment.activeRevisionId;
  // The revision that creating a deployment yields carries nothing of ours and nothing of anybody else's.
  if (created || revisionId === null) return { revisionId: null, verified: false };
  const isVerified = (id: string): boolean =>
    input.known.some((revision) => revision.revisionId === id && revision.verified);
  const instead = baselineInstead(input.late, deployment);
  if (instead !== undefined) return { revisionId: instead, verified: isVerified(instead) };
  const known = input.known.find((revision) => revision.revisionId === revisionId);
  const { target, checks } = request;
  const agentUrl = target.agentUrl ?? deployment.agentUrl;
  let silent: string | null = null;
  if (known !== undefined) {
    const proven = input.lastGood !== null && reachSameAgent(input.lastGood, target);
    if (agentUrl !== null && !proven) silent = await whySilent(journal, target, agentUrl);
    if (silent !== null) foundBefore.push({ failedCheck: null, silent: true });
    return { revisionId, verified: known.verified, silent: silent ?? undefined };
  }
  let verified = false;
  if (agentUrl !== null) {
    const asked = new Asked({ target, deploymentId: deployment.deploymentId, revisionId }, agentUrl);
    try {
      await runChecks(journal, asked, checks, 'baseline');
      verified = true;
      passed.push({ revisionId, checks });
    } catch (error) {
      // A baseline that fails its checks, or cannot be asked, is noted as unverified; the release goes on.
      const { canceled, message } = explain(error);
      if (canceled) throw error;
      if (asked.finding !== null) foundBefore.push(asked.finding);
      if (asked.finding?.silent === true) silent = message;
    }
  }
  knownRevisions.push({ revisionId, verified, at: now() });
  return { revisionId, verified, silent: silent ?? undefined };
}

/** One try is enough, and a short one: an agent that does not answer stops no release. */
const ASK_ONCE = { startToCloseMs: 5_000, scheduleToCloseMs: 10_000, retry: { maximumAttempts: 1 } };

/** Why what serves does not answer under settings that have never worked; `null`: it does, or that is unknown. */
async function whySilent(journal: Journal, target: TargetSpec, agentUrl: string): Promise<string | null> {
  try {
    const overrides = { ...journal.overrides, find: ASK_ONCE };
    const activities = activitiesOf('find', overrides, 'try the settings on what serves');
    return (await activities.askAgent({ target, agentUrl })).silent;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return null;
  }
}
