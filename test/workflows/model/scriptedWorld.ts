import { Context } from '@temporalio/activity';

import type { Activities } from '../../../src/activities/activities.ts';
import type { Frozen } from '../../../src/domain/freeze/freeze.ts';
import type { GuardedInput } from '../../../src/domain/guard/guardPolicy.ts';
import { STEPS } from '../../../src/domain/stepTable.ts';
import type { CheckVerdict } from '../../../src/domain/release/release.ts';
import { progressQuery } from '../../../src/messages/release.ts';
import {
  answeredTooLate,
  answeredWithOldLatest,
  notTaken,
  refused,
  takenAndRefused,
  unansweredAndLost,
  unansweredButTaken,
} from '../faults.ts';
import { identity } from '../requests.ts';
import { type Fault, type WatchInput, type WatchResult, type WatchRound, World } from '../world.ts';
import type { ActivityName } from '../worldActivities.ts';
import { Gate } from '../waits.ts';
import { type ArtifactName, ARTIFACTS, type Plan, type Stop } from './plan.ts';
import type { Situation } from './situations.ts';

/** A check that has passed before fails. */
const failing: Fault = async (perform) => {
  const { verdict, ...rest } = (await perform()) as { readonly verdict: CheckVerdict };
  return { ...rest, verdict: { ...verdict, passed: false, reasons: ['it fails in its soak'] } };
};

/** From now on, no check passes. */
const failingForAll: Fault = (perform, world) => {
  world.providerIsAway = true;
  return perform();
};

/** A freeze is in force for so long. */
const frozenFor =
  (ms: number, then: Frozen['then'] = 'wait'): Fault =>
  () =>
    Promise.resolve({ frozen: { name: 'a freeze', timeZone: 'UTC', then, until: Date.now() + ms } });

/** A freeze that ends by itself, and a time that no sequence outlasts. */
const SOON_MS = 20;
const HOUR_MS = 3_600_000;

const FAULTS = {
  answered: [],
  'old latest': [answeredWithOldLatest],
  taken: [unansweredButTaken],
  conflict: [takenAndRefused],
  lost: [unansweredAndLost],
  refused: [refused()],
  // For all automatic attempts of the tests' steps.
  unreachable: [notTaken(), notTaken()],
  fails: [failing],
  'fails for all': [failingForAll],
  'too late': [answeredTooLate],
  'never answered': [unansweredAndLost, unansweredAndLost, unansweredAndLost],
} satisfies Readonly<Record<string, readonly Fault[]>>;

/** In so many rounds of a soak, the agent does not answer. */
const SILENT_ROUNDS = STEPS.check.retry.maximumAttempts;

const HELD_UP: Readonly<Record<Exclude<Stop, 'approval' | 'freeze'>, keyof Activities>> = {
  upload: 'uploadArtifact',
  patch: 'patchDeployment',
  deployed: 'awaitDeployed',
  check: 'runCheck',
  soak: 'watchRevision',
};

const TOO_LATE: ReadonlyMap<ActivityName, Situation> = new Map<ActivityName, Situation>([
  ['createDeployment', 'create exceeds its deadline'],
  ['uploadArtifact', 'upload exceeds its deadline'],
  ['patchDeployment', 'patch exceeds its deadline'],
  ['runCheck', 'check exceeds its deadline'],
  ['redeployRevision', 'redeploy exceeds its deadline'],
]);

/** One release's plan, and how much of it has run. */
class Script {
  readonly gate = new Gate();
  reached = false;
  objectPath: string | undefined;
  /** The attempt that uploaded it. An earlier attempt may be answered later. */
  uploadedBy = 0;
  readonly uploadIsRefused: boolean;
  readonly #heldUp: keyof Activities | undefined;
  readonly #faults: ReadonlyMap<string, Fault[]>;

  constructor(plan: Plan) {
    this.uploadIsRefused = plan.upload === 'refused';
    const { stop } = plan;
    this.#heldUp = stop === null || stop === 'approval' || stop === 'freeze' ? undefined : HELD_UP[stop];
    this.#faults = new Map<keyof Activities, Fault[]>([
      ['lookAtFreezes', freezeFaults(plan)],
      ['createDeployment', [...FAULTS[plan.create]]],
      ['uploadArtifact', [...FAULTS[plan.upload]]],
      ['patchDeployment', [...FAULTS[plan.patch]]],
      ['runCheck', [...FAULTS[plan.check]]],
      ['watchRevision', soakFaults(plan)],
      ['redeployRevision', [...FAULTS[plan.redeploy]]],
    ]);
  }

  /** Whether it is held in its soak: only the last round ends it. */
  get isHeldInSoak(): boolean {
    return this.#heldUp === 'watchRevision' && !this.gate.isOpen;
  }

  next(activity: ActivityName | 'watchRevision'): Fault | undefined {
    if (activity === 'watchRevision' && this.isHeldInSoak) return undefined;
    const fault = this.#faults.get(activity)?.shift();
    if (activity !== this.#heldUp || activity === 'watchRevision') return fault;
    // On a slow machine, the server may give up the held attempt: the next one is held, too.
    const isLost = !this.gate.isOpen && Context.current().info.attempt > 1;
    if (this.reached && !isLost) return fault;
    this.reached = true;
    return async (perform, world) => {
      await this.gate.passed();
      return fault === undefined ? perform() : fault(perform, world);
    };
  }
}

/** A world in which each release follows its plan. */
export class ScriptedWorld extends World {
  readonly met = new Set<Situation>();
  slowMs = 0;
  /** The first rounds of a guard are not due, nor is its end. */
  guardsMeasure: 'not yet' | 'now' | 'at their end' = 'not yet';
  /** How many rounds of soaks and guards have ended. */
  readonly rounds = { watchRevision: 0, guardRevision: 0 };
  readonly #scripts = new Map<string, Script>();

  constructor(id: string) {
    super(id);
    this.unfrozenMs = HOUR_MS;
    this.bad.add(identity('fails'));
    this.broken.set(identity('breaks'), 'BUILD_FAILED');
    this.slow.add(identity('hangs'));
    for (const name of ARTIFACTS) this.knownOnlyTo.set(name, new Set([identity(name)]));
  }

  follow(releaseId: string, plan: Plan): void {
    this.#scripts.set(releaseId, new Script(plan));
  }

  isHeldUp(releaseId: string): boolean {
    return this.#scripts.get(releaseId)?.reached === true;
  }

  open(releaseId: string): void {
    this.#scripts.get(releaseId)?.gate.open();
  }

  revisionNumber(revisionId: string): number {
    return Number(revisionId.slice(0, revisionId.indexOf('-')));
  }

  changeByHand(): void {
    this.bringUp(this.patchElsewhere());
  }

  /** Deploys an abandoned revision. From now on, its redeploys succeed. */
  comeUpLate(revisionId: string): void {
    this.bringUp(revisionId, 'came up late');
  }

  /** Makes all later deploys of a revision fail. */
  ruin(revisionId: string): void {
    this.broken.set(revisionId, 'DEPLOY_FAILED');
  }

  override async watch(input: WatchInput, round: WatchRound): Promise<WatchResult> {
    const script = this.#scriptOfCaller();
    // Once a soak goes on, its time is over.
    const isOver = script?.gate.isOpen === true;
    try {
      return await round(isOver ? { ...input, until: 0 } : input);
    } finally {
      if (script !== undefined) script.reached = true;
      this.rounds.watchRevision++;
      this.wake();
    }
  }

  override async call(activity: ActivityName, input: unknown): Promise<unknown> {
    if (activity === 'guardRevision') return this.#measure(input as GuardedInput);
    const script = this.#scriptOfCaller();
    if (script !== undefined && this.#isItsOwn(script, activity, input)) {
      const isSoak = activity === 'runCheck' && Context.current().info.activityType === 'watchRevision';
      const fault = script.next(isSoak ? 'watchRevision' : activity);
      const situation = fault === answeredTooLate ? TOO_LATE.get(activity) : undefined;
      if (situation !== undefined) this.met.add(situation);
      // Consumed by this call, before anything else can happen.
      if (fault !== undefined) this.next(activity, fault);
      const { isLocal } = Context.current().info;
      if (activity === 'uploadArtifact' && script.uploadIsRefused && !isLocal) await untilBaselineIsKnown();
    }
    const result = await super.call(activity, input);
    if (this.slowMs > 0) await Context.current().sleep(this.slowMs);
    const { attempt } = Context.current().info;
    if (activity === 'uploadArtifact' && script !== undefined && attempt > script.uploadedBy) {
      script.uploadedBy = attempt;
      script.objectPath = (result as { objectPath: string }).objectPath;
    }
    return result;
  }

  async #measure(input: GuardedInput): Promise<unknown> {
    const { guardsMeasure } = this;
    const since = guardsMeasure === 'not yet' ? input.since : input.since - input.policy.afterMs;
    const until = guardsMeasure === 'at their end' ? input.since : input.until;
    try {
      return await super.call('guardRevision', { ...input, since, until });
    } finally {
      this.rounds.guardRevision++;
      this.wake();
    }
  }

  /** The script of the calling release. A rollback has none, nor has a release under another spelling. */
  #scriptOfCaller(): Script | undefined {
    const workflowId = Context.current().info.workflowExecution?.workflowId ?? '';
    return this.#scripts.get(/\.test:agent\/(release-\d+)$/.exec(workflowId)?.[1] ?? '');
  }

  /** A release also handles other releases' revisions. */
  #isItsOwn(script: Script, activity: ActivityName, input: unknown): boolean {
    if (activity !== 'awaitDeployed' && activity !== 'runCheck') return true;
    const { revisionId } = input as { revisionId: string };
    const { objectPath } = script;
    if (objectPath === undefined) return false;
    const own = this.deployment?.revisions.find(({ source }) => source.source_tarball_path === objectPath);
    return own?.id === revisionId;
  }
}

function freezeFaults({ freeze, stop }: Plan): Fault[] {
  if (freeze === 'none') return [];
  if (freeze === 'refuses') return [frozenFor(HOUR_MS, 'refuse')];
  return [frozenFor(freeze === 'ends' && stop !== 'freeze' ? SOON_MS : HOUR_MS)];
}

function soakFaults({ soak }: Plan): Fault[] {
  if (soak === 'none') return [];
  return soak === 'unreachable' ? Array.from({ length: SILENT_ROUNDS }, () => notTaken()) : [...FAULTS[soak]];
}

/** A refused upload stops the checks of the baseline beside it. In the model, these have ended before. */
async function untilBaselineIsKnown(): Promise<void> {
  const { client, info, sleep } = Context.current();
  const { workflowId = '', runId } = info.workflowExecution ?? {};
  const release = client.workflow.getHandle(workflowId, runId);
  for (;;) {
    // What a workflow learns in a task is lost if the task is.
    if ((await release.describe()).raw.pendingWorkflowTask == null) {
      const { baseline, outcome } = await release.query(progressQuery);
      if (baseline !== null || outcome !== null) return;
    }
    await sleep(20);
  }
}

export function artifactOf(name: ArtifactName): string {
  return identity(name);
}
