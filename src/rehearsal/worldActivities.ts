import { Context } from '@temporalio/activity';

import type { Activities, JudgementInput } from '../activities/activities.ts';
import { notYet } from '../activities/activityFailure.ts';
import { freezeActivities } from '../activities/freeze/freezeActivities.ts';
import type { PollUntil } from '../activities/polling.ts';
import { lineActivities } from '../activities/promotion/lineActivities.ts';
import { EVERYBODY_AT_ONCE } from '../activities/promotion/places.ts';
import { watchActivities } from '../activities/target/watchActivities.ts';
import { track, type Untracked } from '../activities/track.ts';
import { checksDigest } from '../artifact/artifactStore.ts';
import type { Check } from '../domain/check/check.ts';
import { revisionPhase, type RevisionSnapshot } from '../domain/deployment/revision.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { JudgeReport, SideReport } from '../domain/judge/report.ts';
import type { JudgeVerdict } from '../domain/judge/verdict.ts';
import { type PromotionRequest, promotionWorkflowId } from '../domain/promotion/promotion.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';
import type { Deployments } from './deployments.ts';
import type { AskedNow, Outcomes } from './outcomes.ts';

/** What the activities of a rehearsal stand on. */
interface RehearsedWorld {
  readonly deployments: Deployments;
  readonly outcomes: Outcomes;
  readonly promotions: readonly Pick<PromotionRequest, 'name' | 'from' | 'to'>[];
  /** The time that is skipped: milliseconds since 1970. */
  readonly now: () => Promise<number>;
}

/** A kept record has a name; these are not kept. */
const NOT_KEPT = 'none in a rehearsal';

/**
 * The activities of a rehearsal. What asks targets, watches and looks at freezes is what the worker does in earnest; the
 * control planes, the agents, the judge and the artifact store are a world in memory, in which what is injected happens.
 */
export function worldActivities(world: RehearsedWorld): Activities {
  const { deployments, outcomes, now } = world;
  const kept = new Map<string, readonly Check[]>();

  /** The time, once the control plane of a target has answered. */
  const asControlPlane = async ({ name }: TargetSpec): Promise<number> => {
    const at = await now();
    const down = outcomes.happens('control_plane', askedNow(world, at, name), about(name));
    if (down === undefined) return at;
    throw new SlipwayError('SLIPWAY_UNREACHABLE', `the control plane of "${name}" is down`);
  };
  const pollUntil = pollsInSkippedTime(now);
  const findDeployment: Plain['findDeployment'] = async ({ target }) => ({
    deployment: deployments.find(target, await asControlPlane(target)),
  });
  const readDeployment: Plain['readDeployment'] = async ({ target }) => ({
    deployment: deployments.read(target, await asControlPlane(target)),
  });
  const listRevisions: Plain['listRevisions'] = async ({ target }) => ({
    revisions: deployments.listRevisions(target, await asControlPlane(target)),
  });

  const runCheck: Plain['runCheck'] = async ({ target, revisionId, check }) => {
    const at = await asControlPlane(target);
    const { activeRevisionId } = deployments.read(target, at);
    if (activeRevisionId !== revisionId) {
      throw new SlipwayError('SLIPWAY_NOT_SERVING', `revision ${activeRevisionId ?? 'none'} is active`);
    }
    const found = outcomes.happens(
      'check',
      askedNow(world, at, target.name),
      (injection) => injection.check === check.name && about(target.name)(injection),
    );
    if (found?.how === 'errs') {
      throw new SlipwayError('SLIPWAY_UNREACHABLE', `the agent on "${target.name}" does not answer`);
    }
    const passed = found === undefined;
    return {
      verdict: {
        check: check.name,
        revisionId,
        passed,
        reasons: passed ? [] : [`rehearsed: ${found.text}`],
        answer: '',
        runId: null,
        latencyMs: 0,
        feedbackRecorded: null,
      },
    };
  };

  const plain: Plain = {
    findDeployment,
    readDeployment,
    listRevisions,
    runCheck,
    async createDeployment({ target, artifact }) {
      const at = await asControlPlane(target);
      deployments.create(target, artifact, at);
      return { deployment: deployments.read(target, at) };
    },
    async readRevision({ target, revisionId }) {
      return { revision: deployments.readRevision(target, revisionId, await asControlPlane(target)) };
    },
    async uploadArtifact({ target }) {
      await asControlPlane(target);
      return { objectPath: deployments.upload() };
    },
    async patchDeployment({ target, artifact, objectPath }) {
      const at = await asControlPlane(target);
      const fails =
        outcomes.happens('build', askedNow(world, at, target.name), about(target.name)) !== undefined;
      const revision = {
        artifact,
        tarballPath: objectPath,
        ends: fails ? 'BUILD_FAILED' : 'DEPLOYED',
      } as const;
      return { deployment: deployments.patch(target, revision, at) };
    },
    async redeployRevision({ target, revisionId }) {
      const at = await asControlPlane(target);
      return { deployment: deployments.redeploy(target, revisionId, at) };
    },
    awaitDeployed: async ({ target, revisionId }) => ({
      revision: await pollUntil<RevisionSnapshot>('SLIPWAY_STEP_TIMED_OUT', async () => {
        const seen = deployments.readRevision(target, revisionId, await asControlPlane(target));
        return revisionPhase(seen.status) === 'pending'
          ? { insteadOf: `revision ${revisionId} is ${seen.status}` }
          : { found: seen };
      }),
    }),
    // Nothing is left to it: no time passes while an activity polls.
    pollRevisions: () => Promise.resolve({ settled: [] }),
    confirmServing: async ({ target, revisionId }) => ({
      agentUrl: await pollUntil<string>('SLIPWAY_NOT_SERVING', async () => {
        const { activeRevisionId, agentUrl } = deployments.read(target, await asControlPlane(target));
        return activeRevisionId === revisionId && agentUrl !== null
          ? { found: agentUrl }
          : { insteadOf: `revision ${activeRevisionId ?? 'none'} is active instead of ${revisionId}` };
      }),
    }),
    awaitLateSuccess: async ({ target, revisionId, until }) => ({
      cameUp: await pollUntil<boolean>('SLIPWAY_STEP_TIMED_OUT', async () => {
        const at = await asControlPlane(target);
        if (deployments.read(target, at).activeRevisionId === revisionId) return { found: true };
        const { status } = deployments.readRevision(target, revisionId, at);
        return revisionPhase(status) === 'failed' || at >= Date.parse(until)
          ? { found: false }
          : { insteadOf: `revision ${revisionId} is ${status} and not active` };
      }),
    }),
    async judgeCandidate({ inputs, settings }) {
      const at = await now();
      const found = outcomes.happens('judge', { now: at }, () => true);
      const report = rehearsedReport(found?.verdict ?? 'passed', { inputs, settings }, at);
      return { report, location: NOT_KEPT };
    },
    ...watchActivities({ readDeployment, listRevisions, runCheck, now }),
    ...lineActivities(
      async (target) => (await findDeployment({ target })).deployment,
      pollUntil,
      EVERYBODY_AT_ONCE,
    ),
    ...freezeActivities(),
    sendNotice: () => Promise.resolve({ detail: 'a rehearsal sends no notices' }),
    findArtifact: () => Promise.resolve({ sizeBytes: 0 }),
    recordPromotion: () => Promise.resolve({ location: NOT_KEPT }),
    // Each target is started once, with its state, and nobody else releases there.
    claimDeployment: () => Promise.resolve({}),
    recallTarget: () => Promise.resolve({ state: null, work: null, isReset: false }),
    keepTarget: () => Promise.resolve({}),
    awaitWork: () => Promise.reject(new Error('no target of a rehearsal is ended')),
    recordRelease: ({ passed }) => {
      const digests = passed.map(({ checks }) => checksDigest(checks));
      for (const [index, digest] of digests.entries()) kept.set(digest, passed[index]?.checks ?? []);
      return Promise.resolve({ location: NOT_KEPT, digests });
    },
    readChecks: ({ digest }) => Promise.resolve({ checks: kept.get(digest) ?? [] }),
    askAgent: () => Promise.resolve({ silent: null }),
  };
  return track(plain);
}

type Plain = Untracked<Activities>;

/** Whether an injection is about a target: one that names none is about each. */
function about(target: string): (injection: { readonly target: string | null }) => boolean {
  return (injection) => injection.target === null || injection.target === target;
}

/** What asks: where it is the watching of a promotion, which, and since when. */
function askedNow({ promotions }: RehearsedWorld, at: number, target: string): AskedNow {
  const { activityType, workflowExecution, scheduledTimestampMs } = Context.current().info;
  const promotion = promotions.find((other) => promotionWorkflowId(other) === workflowExecution?.workflowId);
  if (activityType !== 'watchRevision' || promotion === undefined) return { now: at };
  const of = promotion.from.name === target ? 'soak' : 'bake';
  return { now: at, watch: { of, since: scheduledTimestampMs } };
}

/** The report of a judge who runs nothing: the verdict is what is rehearsed. */
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

/** How much longer is waited at each look, as a share of what was waited already. */
const GROWTH = 0.2;
const LEAST_MS = 1_000;
const MOST_MS = 5 * 60_000;

/**
 * Makes polls that look once in each attempt: while an attempt lasts no time is skipped, so that it is the wait before the
 * next one that lets it pass.
 *
 * @param now - the time that is skipped.
 */
function pollsInSkippedTime(now: () => Promise<number>): PollUntil {
  return async (code, look) => {
    const seen = await look();
    if ('found' in seen) return seen.found;
    const waited = (await now()) - Context.current().info.scheduledTimestampMs;
    throw notYet(code, seen.insteadOf, Math.min(Math.max(waited * GROWTH, LEAST_MS), MOST_MS));
  };
}
