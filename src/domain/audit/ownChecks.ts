import { canonicalJson } from '@slipway/contract/canonicalJson';
import type { ActivityFact, WorkFact } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 5, "What restoring means": a restored revision is asked only what it passed when it was verified. Where its checks
 * fail and it stays, because what fails everywhere is not the revision, none loses its verification.
 */
export const ownChecks: Rule = ({ target }) =>
  target.works.flatMap((work, index) => [
    ...askedMore(work, target.works.slice(0, index)),
    ...lostVerification(work),
    ...lostChecks(work),
  ]);

/**
 * Own checks are those that were kept, were passed in the same release before anything was changed, or were passed by the
 * same revision before.
 */
function askedMore({ workflowId, activities }: WorkFact, before: readonly WorkFact[]): Violation[] {
  const redeployed = activities.findIndex(({ name }) => name === 'redeployRevision');
  if (redeployed === -1) return [];
  const patched = activities.findIndex(({ name }) => name === 'patchDeployment');
  const own = new Set([
    ...activities.flatMap(({ result }) => (result?.['checks'] ?? []) as readonly unknown[]).map(identity),
    ...activities.slice(0, patched === -1 ? redeployed : patched).flatMap(checkOf),
  ]);
  const passed = before.flatMap((work) => work.activities.filter(hasPassed)).map(passOf);
  const others = activities
    .slice(redeployed)
    .filter((fact) => checkOf(fact).some((check) => !own.has(check)) && !passed.includes(passOf(fact)));
  return others.slice(0, 1).map(({ input }) => ({
    rule: 5,
    workflowId,
    what: `revision ${String(input['revisionId'])} was restored under a check that it had not passed before`,
  }));
}

function lostVerification({ workflowId, activities, known, result }: WorkFact): Violation[] {
  if (result?.outcome !== 'errored') return [];
  const redeployed = activities.findLastIndex(({ name }) => name === 'redeployRevision');
  const last = activities.slice(redeployed).findLast(({ name }) => name === 'runCheck');
  if (redeployed === -1 || last === undefined || hasPassed(last)) return [];
  const lost = result.knownRevisions.filter(
    ({ revisionId, verified }) =>
      !verified && known.some((other) => other.revisionId === revisionId && other.verified),
  );
  return lost.map(({ revisionId }) => ({
    rule: 5,
    workflowId,
    what: `revision ${revisionId} lost its verification where checks failed on more than one revision`,
  }));
}

/** A copy that a redeploy made must keep the checks that its original passed: it is restored under them. */
function lostChecks({ workflowId, known, result }: WorkFact): Violation[] {
  const news = result?.knownRevisions ?? [];
  const checksOf = new Map([...known, ...news].map(({ revisionId, checks }) => [revisionId, checks]));
  return news
    .filter(
      ({ copyOf, checks }) =>
        checks === undefined && copyOf !== undefined && checksOf.get(copyOf) !== undefined,
    )
    .map(({ revisionId }) => ({
      rule: 5,
      workflowId,
      what: `revision ${revisionId} is a copy and lost the checks that its original passed`,
    }));
}

function hasPassed({ outcome, result }: ActivityFact): boolean {
  const verdict = result?.['verdict'] as { readonly passed?: boolean } | undefined;
  return outcome === 'completed' && verdict?.passed === true;
}

/** Which check was asked of which revision. */
function passOf({ input }: ActivityFact): string {
  return `${String(input['revisionId'])} ${identity(input['check'])}`;
}

function checkOf({ name, input }: ActivityFact): string[] {
  return name === 'runCheck' ? [identity(input['check'])] : [];
}

function identity(check: unknown): string {
  return canonicalJson(check ?? null);
}
