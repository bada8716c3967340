import { condition, isCancellation, uuid4 } from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import type { Preemption } from '../../domain/release/release.ts';
import {
  counterLateRevision,
  counterTo,
  forgetLateRevision,
  forgetUpload,
  landUpload,
} from '../../domain/target/lateRevisions.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { LateRevision, LateUpload } from '../../domain/target/targetState.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { Settings } from '../restore/settings.ts';
import { activitiesOf } from '../steps.ts';
import { lookAtDeployment, ROLLBACK_LOOK_MS } from './looks.ts';
import type { TargetCore } from './targetCore.ts';

/**
 * Watches revisions that releases gave up on and that may still become active (design, rule 6). Also watches uploads
 * whose PATCH was not answered and may still be applied. Each is watched until its deadline, beside what runs on the
 * target, and is dropped only after a read at or after its deadline.
 *
 * It never changes the deployment itself: on an idle target it queues a rollback, and it signals a running release.
 */
export class LateWatch {
  readonly #target: TargetCore;
  readonly #preemptRelease: (counter: Preemption) => Promise<void>;
  /** What is being watched: revision ids and upload paths. */
  readonly #watched = new Set<string>();
  /** Late revisions that became active while a release or a rollback ran. */
  readonly #overtakers = new Set<string>();

  /** @param preemptRelease - signals to the running release that a late revision serves. */
  constructor(target: TargetCore, preemptRelease: (counter: Preemption) => Promise<void>) {
    this.#target = target;
    this.#preemptRelease = preemptRelease;
  }

  async keep(): Promise<void> {
    await untilCanceled(async () => {
      for (;;) {
        await condition(() => this.#unwatched.length > 0);
        for (const one of this.#unwatched) void this.#watch(one);
      }
    });
  }

  /** Queues a rollback for each late revision that became active during the work that has just ended. */
  async counterOvertakers(): Promise<void> {
    const { lastRequest, lastGood } = this.#target.state;
    if (this.#overtakers.size === 0 || lastRequest === null) return;
    const deployment = await lookAtDeployment(lastRequest, ROLLBACK_LOOK_MS, lastGood);
    const late = this.#target.state.late.find(
      ({ revisionId }) => revisionId === deployment?.activeRevisionId,
    );
    if (late !== undefined) this.#counter(late);
    this.#overtakers.clear();
  }

  get #unwatched(): readonly Late[] {
    const { late, lateUploads } = this.#target.state;
    return [...late, ...lateUploads].filter((one) => !this.#watched.has(keyOf(one)));
  }

  async #watch(one: Late): Promise<void> {
    const key = keyOf(one);
    this.#watched.add(key);
    await untilCanceled(() =>
      'objectPath' in one ? this.#watchUpload(one.objectPath) : this.#watchRevision(one.revisionId),
    );
    this.#watched.delete(key);
  }

  async #watchRevision(revisionId: string): Promise<void> {
    const find = (): LateRevision | undefined =>
      this.#target.state.late.find((other) => other.revisionId === revisionId);
    for (let late = find(); late !== undefined; late = find()) {
      const { deploymentId, until } = late;
      const seen = await this.#ask(`revision ${revisionId}`, late, (activities, target) =>
        activities.awaitLateSuccess({ target, deploymentId, revisionId, until }),
      );
      // A release that ended meanwhile may have restored this revision on purpose, or given up on it again.
      const current = find();
      if (seen === undefined || current === undefined) continue;
      if (seen.cameUp) await this.#noticeActive(current);
      else if (current.until === until) this.#forget(current);
    }
  }

  /** If a release or a rollback is running, leaves the late revision to it, and reads again when it has ended. */
  async #noticeActive(late: LateRevision): Promise<void> {
    const { running, state } = this.#target;
    if (running === null) {
      this.#counter(late);
      return;
    }
    const { revisionId } = late;
    this.#overtakers.add(revisionId);
    if (running.kind === 'release' && running.restores === undefined)
      await this.#preemptRelease({ ...counterTo(state, late, uuid4()), overtaker: revisionId });
    await condition(() => !this.#overtakers.has(revisionId));
  }

  #counter(late: LateRevision): void {
    this.#target.change(counterLateRevision(this.#target.state, late, uuid4()));
  }

  async #watchUpload(objectPath: string): Promise<void> {
    const find = (): LateUpload | undefined =>
      this.#target.state.lateUploads.find((other) => other.objectPath === objectPath);
    for (let upload = find(); upload !== undefined; upload = find()) {
      const { releaseId, deploymentId, known, until } = upload;
      const seen = await this.#ask(`for a late PATCH of ${releaseId}`, upload, (activities, target) =>
        activities.awaitLateUpload({ target, deploymentId, objectPath, known, until }),
      );
      const current = find();
      if (seen === undefined || current === undefined) continue;
      if (seen.revisionId === null) this.#forget(current);
      // A restore may make copies that carry the same upload path. It reports them when it ends.
      else if (this.#isRestoring) await condition(() => !this.#isRestoring);
      else if (!current.known.includes(seen.revisionId))
        this.#target.change(landUpload(this.#target.state, current, seen.revisionId, now()));
    }
  }

  get #isRestoring(): boolean {
    const { running } = this.#target;
    return running !== null && (running.kind === 'rollback' || running.restores !== undefined);
  }

  /** Asks the control plane until it answers. If it refuses for good, stops watching; `undefined` means no answer. */
  async #ask<T>(
    what: string,
    late: Late,
    look: (activities: Activities, target: TargetSpec) => Promise<T>,
  ): Promise<T | undefined> {
    const { spec, lastGood, lastRequest } = this.#target.state;
    if (spec === null) throw new TypeError('something was given up on before there was any release');
    const steps = lastRequest?.steps ?? {};
    const endless = { ...steps, watch: { ...steps.watch, scheduleToCloseMs: Infinity } };
    const activities = activitiesOf('watch', endless, `watch ${what}`);
    try {
      return await new Settings(lastGood, spec).under((target) => look(activities, target));
    } catch (error) {
      const { canceled, code, message } = explain(error);
      if (canceled) throw error;
      // The target has newer settings: try again with them.
      if (spec !== this.#target.state.spec) return undefined;
      // A rollback named it by mistake, or it was removed: it can never become active.
      if (code !== 'SLIPWAY_NOT_FOUND') this.#target.ignore('watch', `stopped watching ${what}: ${message}`);
      this.#forget(late);
      return undefined;
    }
  }

  #forget(late: Late): void {
    const { state } = this.#target;
    this.#target.change('objectPath' in late ? forgetUpload(state, late) : forgetLateRevision(state, late));
  }
}

type Late = LateRevision | LateUpload;

function keyOf(one: Late): string {
  return 'objectPath' in one ? one.objectPath : one.revisionId;
}

/** A reset cancels this life of the target and what it awaits. */
async function untilCanceled(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}
