import { copyMadeElsewhere, type DeploymentSnapshot, leftByHand } from '../../domain/deployment/revision.ts';
import type { Baseline } from '../../domain/release/release.ts';
import { baselineInstead } from '../../domain/target/lateRevisions.ts';
import { isVerified } from '../../domain/restore/restoreDecision.ts';
import { reachSameAgent, type TargetSpec } from '../../domain/target/targetSpec.ts';
import { CheckedRevision, runCheck } from '../check/runCheck.ts';
import { explain } from '../failure.ts';
import { type Journal, now } from '../journal.ts';
import { activitiesOf } from '../steps.ts';
import { lookAtDeployment, ROLLBACK_LOOK_MS } from '../target/looks.ts';
import type { Run } from './run.ts';

/**
 * Records the baseline: the revision that serves before the release changes anything. If the target does not know
 * that revision (the deployment was made elsewhere), its checks run once, to decide whether it counts as verified.
 */
export async function recordBaseline(
  run: Run,
  deployment: DeploymentSnapshot,
  created: boolean,
): Promise<void> {
  run.baseline = await findBaseline(run, deployment, created);
  run.journal.note({ baseline: run.baseline });
}

async function findBaseline(run: Run, deployment: DeploymentSnapshot, created: boolean): Promise<Baseline> {
  const { input, knownBefore, request, journal, knownRevisions, passed, foundBefore } = run;
  const revisionId = deployment.activeRevisionId;
  // Creating a deployment yields a revision that serves no agent: there is nothing to restore.
  if (created || revisionId === null) return { revisionId: null, verified: false };
  const instead = baselineInstead(input.late, deployment);
  if (instead !== undefined) return { revisionId: instead, verified: isVerified(knownBefore, instead) };
  knownRevisions.push(...copyMadeElsewhere(knownBefore, deployment));
  noteLeftByHand(run, revisionId);
  const known = run.known.find((revision) => revision.revisionId === revisionId);
  // The release may end before the checks below do, and says then what serves.
  run.baseline = { revisionId, verified: known?.verified ?? false };
  const { target, checks, checksBudget } = request;
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
    const subject = { target, deploymentId: deployment.deploymentId, revisionId };
    const checked = new CheckedRevision(subject, agentUrl, checksBudget);
    try {
      for (const check of checks) await runCheck(journal, checked, check, 'baseline');
      verified = true;
      passed.push({ revisionId, checks });
    } catch (error) {
      // A baseline that fails its checks or does not answer is recorded as unverified. The release goes on.
      const { canceled, message } = explain(error);
      if (canceled) throw error;
      if (checked.finding !== null) foundBefore.push(checked.finding);
      if (checked.finding?.silent === true) silent = message;
    }
  }
  knownRevisions.push({
    revisionId,
    verified,
    answersWithinMs: journal.answersWithinMs(revisionId),
    at: now(),
  });
  return { revisionId, verified, silent: silent ?? undefined };
}

/**
 * Records as the baseline the verified revision that served at the PATCH or, without one, at the end. Another tool, such
 * as a rollback by break-glass, has restored it since the baseline was recorded: the release may have waited for weeks.
 */
export function correctBaseline(run: Run, revisionId: string | null): void {
  if (revisionId === run.baseline?.revisionId || !isVerified(run.known, revisionId)) return;
  noteLeftByHand(run, revisionId);
  run.foundBefore.length = 0;
  run.baseline = { revisionId, verified: true };
  run.journal.note({ baseline: run.baseline });
}

/**
 * Records as the baseline the verified revision that another tool, such as a rollback by break-glass, has restored in place
 * of the release's own.
 */
export async function adoptRestored(run: Run): Promise<void> {
  const deployment = await lookAtDeployment(run.request, ROLLBACK_LOOK_MS, run.input.lastGood);
  if (deployment == null) return;
  run.knownRevisions.push(...copyMadeElsewhere(run.known, deployment));
  correctBaseline(run, deployment.activeRevisionId);
}

/** Remembers the revision that a person left on the control plane: it is not restored automatically any longer. */
function noteLeftByHand({ input, known, knownRevisions }: Run, serving: string | null): void {
  const { expected } = input;
  if (expected !== undefined) knownRevisions.push(...leftByHand(known, expected, serving, now()));
}

/** One short attempt: an agent that does not answer must not stop the release. */
const ASK_ONCE = { startToCloseMs: 5_000, scheduleToCloseMs: 10_000, retry: { maximumAttempts: 1 } };

/**
 * Asks the active revision's agent under settings that have not worked yet.
 * @returns why it does not answer; `null` if it answers, or if that cannot be found out.
 */
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
