import { Context } from '@temporalio/activity';

import type { Activities, JudgementInput } from '../activities/activities.ts';
import { notYet } from '../activities/activityFailure.ts';
import { requireActive } from '../activities/check/checkActivities.ts';
import { releaseActivities } from '../activities/createActivities.ts';
import type { PollUntil } from '../activities/polling.ts';
import { promotionActivities } from '../activities/promotion/promotionActivities.ts';
import { EVERYBODY_AT_ONCE } from '../activities/promotion/places.ts';
import { watchActivities } from '../activities/target/watchActivities.ts';
import { track } from '../activities/track.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { JudgeReport, SideReport } from '../domain/judge/report.ts';
import type { JudgeVerdict } from '../domain/judge/verdict.ts';
import type { Outcomes } from './outcomes.ts';
import { aboutTarget, type RehearsedOutside } from './rehearsedOutside.ts';

/** The name for records in a rehearsal, which stores none. */
const NOT_KEPT = 'none in a rehearsal';

/** The worker's own activities, with services in memory. Verdicts are injected, and no notice is sent. */
export function rehearsalActivities(
  outside: RehearsedOutside,
  outcomes: Outcomes,
  now: () => Promise<number>,
): Activities {
  const pollUntil = pollsInSkippedTime(now);
  const releases = releaseActivities(outside, { pollUntil, now });

  const runCheck: (typeof releases)['runCheck'] = async ({ target, deploymentId, revisionId, check }) => {
    await requireActive(outside, { target, deploymentId, revisionId });
    const isAbout = aboutTarget(target.name);
    const found = outcomes.happens(
      'check',
      outside.askedNow(await now(), target.name),
      (injection) => injection.check === check.name && isAbout(injection),
    );
    if (found?.how === 'errs') {
      throw new SlipwayError('SLIPWAY_UNREACHABLE', `the agent on "${target.name}" does not answer`);
    }
    const reasons = found === undefined ? [] : [`rehearsed: ${found.text}`];
    const verdict = { check: check.name, revisionId, passed: found === undefined, reasons, answer: '' };
    return { verdict: { ...verdict, runId: null, latencyMs: 0, feedbackRecorded: null } };
  };

  return track({
    ...releases,
    runCheck,
    ...watchActivities({ ...releases, runCheck, now }),
    ...promotionActivities(releases, pollUntil, EVERYBODY_AT_ONCE, () => outside.openStore()),
    async judgeCandidate({ inputs, settings }) {
      const at = await now();
      const found = outcomes.happens('judge', { now: at }, () => true);
      const report = rehearsedReport(found?.verdict ?? 'passed', { inputs, settings }, at);
      return { report, location: NOT_KEPT };
    },
    sendNotice: () => Promise.resolve({ detail: 'a rehearsal sends no notices' }),
    writeComment: () => Promise.reject(new Error('a rehearsal has no previews')),
    endTarget: () => Promise.reject(new Error('a rehearsal has no previews')),
    recordPromotion: () => Promise.resolve({ location: NOT_KEPT }),
    recordRelease: async (input) => ({ ...(await releases.recordRelease(input)), location: NOT_KEPT }),
    proveIdentity: () => Promise.reject(new Error('a rehearsal asks for no proof')),
    // Each target is started once with its state, and nothing else releases to its deployment.
    claimDeployment: () => Promise.resolve({}),
    // Not used: a release polls for as long as it waits.
    pollRevisions: () => Promise.resolve({ settled: [] }),
    recallTarget: () => Promise.resolve({ state: null, work: null }),
    keepTarget: () => Promise.resolve({}),
    // No events come from outside.
    lookForHook: () => Promise.reject(new Error('a rehearsal has no hooks')),
    carryOutOrder: () => Promise.reject(new Error('a rehearsal has no hooks')),
    guardRevision: () => Promise.resolve({ verdict: 'passed', note: 'a rehearsal measures nothing' }),
    awaitWork: () => Promise.reject(new Error('no target of a rehearsal is ended')),
  });
}

function rehearsedReport(
  verdict: JudgeVerdict,
  { inputs, settings }: Pick<JudgementInput, 'inputs' | 'settings'>,
  at: number,
): JudgeReport {
  const instant = new Date(at).toISOString();
  const side: SideReport = {
    agentUrl: '',
    runs: 0,
    ended: { success: 0, error: 0, interrupted: 0, timeout: 0 },
    repeated: 0,
    feedback: { recorded: 0, lost: 0 },
    failures: [],
  };
  const reason = 'rehearsed';
  return {
    verdict,
    reasons: [reason],
    error: verdict === 'errored' ? { side: null, code: 'SLIPWAY_UNREACHABLE', message: reason } : null,
    policy: settings.policy,
    inputs: { from: inputs === 'recorded' ? 'recorded runs' : inputs.name, count: 0, repetitions: 0 },
    seed: settings.seed,
    startedAt: instant,
    endedAt: instant,
    sides: { baseline: side, candidate: side },
    metrics: [],
  };
}

/** How much longer to wait before each next attempt, as a share of the time waited so far. */
const GROWTH = 0.2;
const LEAST_MS = 1_000;
const MOST_MS = 5 * 60_000;

/** Polls that read once per attempt, because time is skipped only between attempts. */
function pollsInSkippedTime(now: () => Promise<number>): PollUntil {
  return async (code, look) => {
    const seen = await look();
    if ('found' in seen) return seen.found;
    const waited = (await now()) - Context.current().info.scheduledTimestampMs;
    throw notYet(code, seen.insteadOf, Math.min(Math.max(waited * GROWTH, LEAST_MS), MOST_MS));
  };
}
