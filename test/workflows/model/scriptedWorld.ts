import { Context } from '@temporalio/activity';

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
import { type Fault, World } from '../world.ts';
import type { ActivityName } from '../worldActivities.ts';
import { Gate } from '../waits.ts';
import { type ArtifactName, ARTIFACTS, type Plan, type Stop } from './plan.ts';
import type { Situation } from './situations.ts';

const FAULTS = {
  answered: [],
  'old latest': [answeredWithOldLatest],
  taken: [unansweredButTaken],
  conflict: [takenAndRefused],
  lost: [unansweredAndLost],
  refused: [refused()],
  // For all automatic attempts of the tests' steps.
  unreachable: [notTaken(), notTaken()],
  'too late': [answeredTooLate],
  'never answered': [unansweredAndLost, unansweredAndLost, unansweredAndLost],
} satisfies Readonly<Record<string, readonly Fault[]>>;

const HELD_UP: Readonly<Record<Exclude<Stop, 'approval'>, ActivityName>> = {
  upload: 'uploadArtifact',
  patch: 'patchDeployment',
  deployed: 'awaitDeployed',
  check: 'runCheck',
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
  /** Whether the release is at its gate. */
  reached = false;
  objectPath: string | undefined;
  /** The attempt that uploaded it. An earlier attempt may be answered later. */
  uploadedBy = 0;
  readonly uploadIsRefused: boolean;
  readonly #heldUp: ActivityName | undefined;
  readonly #faults: ReadonlyMap<string, Fault[]>;

  constructor(plan: Plan) {
    this.uploadIsRefused = plan.upload === 'refused';
    this.#heldUp = plan.stop === null || plan.stop === 'approval' ? undefined : HELD_UP[plan.stop];
    this.#faults = new Map<ActivityName, Fault[]>([
      ['createDeployment', [...FAULTS[plan.create]]],
      ['uploadArtifact', [...FAULTS[plan.upload]]],
      ['patchDeployment', [...FAULTS[plan.patch]]],
      ['runCheck', [...FAULTS[plan.check]]],
      ['redeployRevision', [...FAULTS[plan.redeploy]]],
    ]);
  }

  next(activity: ActivityName): Fault | undefined {
    const fault = this.#faults.get(activity)?.shift();
    if (activity !== this.#heldUp || this.reached) return fault;
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
  /** The added delay of each answer. */
  slowMs = 0;
  readonly #scripts = new Map<string, Script>();

  constructor(id: string) {
    super(id);
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

  override async call(activity: ActivityName, input: unknown): Promise<unknown> {
    const script = this.#scriptOfCaller();
    if (script !== undefined && this.#isItsOwn(script, activity, input)) {
      const fault = script.next(activity);
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
