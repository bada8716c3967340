import { expect } from 'vitest';

import { type Command, always, command, idle, underWay } from './commands.ts';
import type { Plan } from './plan.ts';
import type { Subject } from './subject.ts';
import { counterOf } from './putBack.ts';
import { type Ending, isSame, type Submission, type TargetModel } from './targetModel.ts';

let submissions = 0;

/**
 * A person requests a release.
 * @param isLate - whether the withdrawal of the submission arrives before the submission.
 */
export function release(plan: Plan, isLate: boolean): Command {
  const name = `release ${words(plan)}${isLate ? ', withdrawn before it arrives' : ''}`;
  return command(name, always, (model, subject) => submitNew(model, subject, plan, isLate));
}

/** The CI job of a release is run again: it requests the same release with another id. */
export function runAgain(pick: number): Command {
  const possible = ({ submissions }: TargetModel): boolean => submissions.length > 0;
  return command(`run again (${pick})`, possible, (model, subject) =>
    submitNew(model, subject, picked(model.submissions, pick).plan, false),
  );
}

async function submitNew(model: TargetModel, subject: Subject, plan: Plan, isLate: boolean): Promise<void> {
  submissions++;
  const id = `submission-${submissions}`;
  if (isLate) model.met.add('a submission is withdrawn before it arrives');
  if (isLate && !model.started) await subject.target.startOnly();
  model.started = true;
  if (isLate) {
    await subject.target.signal('withdraw', { submission: id });
    await subject.target.viewOnce(({ state }) => state.submissions.some((other) => other.id === id));
  }
  const predicted = isLate ? rejectWithdrawn(model) : submit(model, plan);
  const { releaseId, disposition } = predicted;
  if (disposition === 'queued') subject.world.follow(releaseId, plan);
  const submission = { id, plan, releaseId, disposition, withdrawn: isLate };
  model.submissions.push(submission);
  model.repeatable.push(submission);
  const answer = await subject.target.submit(subject.request(plan), {}, id);
  expect({ releaseId: answer.releaseId, disposition: answer.disposition }).toEqual({
    releaseId: predicted.releaseId,
    disposition: predicted.disposition,
  });
  expect(answer.reason).toContain(predicted.because);
}

/** A submission is sent again with its id, like an activity's retry after a lost answer. It gets the same answer. */
export function submitAgain(pick: number): Command {
  const possible = ({ repeatable }: TargetModel): boolean => repeatable.length > 0;
  return command(`submit again (${pick})`, possible, async ({ repeatable }, subject) => {
    const { id, plan, releaseId, disposition } = picked(repeatable, pick);
    const answer = await subject.target.submit(subject.request(plan), {}, id);
    expect({ releaseId: answer.releaseId, disposition: answer.disposition }).toEqual({
      releaseId,
      disposition,
    });
  });
}

export function withdrawSubmission(pick: number, way: 'update' | 'signal'): Command {
  const possible = ({ submissions }: TargetModel): boolean => submissions.length > 0;
  return command(`withdraw submission (${pick}) by ${way}`, possible, async (model, subject) => {
    const submission = picked(model.submissions, pick);
    const { id, releaseId } = submission;
    const all = model.submissions.filter((other) => other.releaseId === releaseId && other !== submission);
    const stands = all.some(({ withdrawn }) => !withdrawn);
    const { running } = model;
    if (stands && !submission.withdrawn)
      model.met.add('a submission is withdrawn while another one of its release stands');
    submission.withdrawn = true;
    const stops = !stands && running?.id === releaseId;
    if (!stands && model.queue.some((queued) => queued.id === releaseId)) {
      model.met.add('a submission is withdrawn while its release waits');
      model.neverStarted([releaseId], 'aborted');
      model.queue = model.queue.filter((queued) => queued.id !== releaseId);
    }
    const message = { submission: id };
    if (way === 'signal') await subject.target.signal('withdraw', message);
    else {
      const led = await subject.target.handle.executeUpdate('withdraw', { args: [message] });
      expect(led).toEqual([releaseId]);
    }
    if (!stops) return;
    await subject.target.progressOnce(releaseId, ({ interventions }) =>
      interventions.some((said) => said.id === 'withdrawn'),
    );
    if (running.stopped) return;
    model.met.add('a submission is withdrawn while its release runs');
    running.aborted = true;
    running.stop();
  });
}

function picked(submissions: readonly Submission[], pick: number): Submission {
  const submission = submissions.at(-1 - (pick % submissions.length));
  if (submission === undefined) throw new Error('nothing was submitted');
  return submission;
}

function rejectWithdrawn(model: TargetModel): Answer {
  const releaseId = model.number('release');
  model.neverStarted([releaseId], 'aborted');
  return { releaseId, disposition: 'rejected', because: 'withdrawn before it arrived' };
}

export function goOn(): Command {
  const isAtGate = ({ running }: TargetModel): boolean =>
    running !== null && ['upload', 'patch', 'deployed', 'check', 'soak'].includes(running.stage);
  return command('what holds the release up lets it go on', isAtGate, async (model, subject) => {
    const running = underWay(model);
    const isSoak = running.stage === 'soak';
    subject.world.open(running.id);
    running.open();
    if (isSoak) await subject.takeRound(running.id);
  });
}

/** The checks of a release that soaks run again. */
export function takeRound(): Command {
  const soaks = ({ running }: TargetModel): boolean => running?.stage === 'soak';
  return command('another round of the soak', soaks, async (model, subject) => {
    const running = underWay(model);
    running.goOn();
    await subject.takeRound(running.id);
  });
}

/**
 * An abandoned revision deploys after all: the target restores the serving one. A release that waits for a person or a
 * freeze makes way for that.
 */
export function comesUpLate(): Command {
  const waits = ({ running }: TargetModel): boolean =>
    running === null || ['approval', 'freeze', 'decision', 'paused'].includes(running.stage);
  const possible = (model: TargetModel): boolean => waits(model) && model.late.length > 0;
  return command('a revision that was given up on comes up', possible, async (model, subject) => {
    const [late] = model.late;
    if (late === undefined) throw new Error('nothing was given up on');
    model.active = late.revision;
    model.revisions.set(late.revision, 'other');
    model.overtaker = late;
    subject.world.comeUpLate(subject.world.revisionId(late.revision));
    const { running } = model;
    if (running !== null) {
      model.met.add('a release that waits makes way for the rollback from a late revision');
      running.preemptedBy = counterOf(model, late);
      running.stop();
    }
    return Promise.resolve();
  });
}

/** Another client changes the deployment directly, while nothing runs or a release waits. */
export function changeByHand(): Command {
  const possible = (model: TargetModel): boolean =>
    model.deployed && (idle(model) || ['approval', 'freeze', 'soak'].includes(model.running?.stage ?? ''));
  return command('somebody changes the deployment by hand', possible, async (model, subject) => {
    if (model.running?.stage === 'approval' || model.running?.stage === 'freeze')
      model.met.add('the deployment is changed by hand while a release waits');
    model.active = model.make('other');
    subject.world.changeByHand();
    return Promise.resolve();
  });
}

/** A revision can no longer be deployed. */
export function ruin(pick: number): Command {
  const candidates = (model: TargetModel): number[] =>
    model.known.map(({ revision }) => revision).filter((revision) => revision !== model.active);
  const possible = (model: TargetModel): boolean =>
    candidates(model).length > 0 && !model.beginning.redeployMakesRevision;
  return command(`ruin(${pick})`, possible, async (model, subject) => {
    const revisions = candidates(model);
    const revision = revisions[pick % revisions.length] ?? 0;
    model.ruined.add(revision);
    subject.world.ruin(subject.world.revisionId(revision));
    return Promise.resolve();
  });
}

/** The model's provider goes down, so that no check passes, or is up again. */
export function provider(isAway: boolean): Command {
  const possible = (model: TargetModel): boolean => model.providerIsAway !== isAway;
  return command(`the model's provider is ${isAway ? 'away' : 'back'}`, possible, async (model, subject) => {
    model.providerIsAway = isAway;
    subject.world.providerIsAway = isAway;
    return Promise.resolve();
  });
}

/** Makes every answer slow, or fast again. */
export function slowAnswers(isSlow: boolean): Command {
  const possible = (model: TargetModel): boolean => model.isSlow !== isSlow;
  return command(`answers are ${isSlow ? 'slow' : 'quick again'}`, possible, async (model, subject) => {
    model.isSlow = isSlow;
    subject.world.slowMs = isSlow ? SLOW_MS : 0;
    return Promise.resolve();
  });
}

/** Longer than the interval of a poll. */
const SLOW_MS = 100;

export function loseWorker(): Command {
  return command(
    'the worker is gone',
    ({ taken }) => taken,
    (model, subject) => {
      if (model.running !== null) model.met.add('the worker is lost while a release runs');
      return subject.loseWorker(model.running?.id);
    },
  );
}

interface Answer {
  readonly releaseId: string;
  readonly disposition: 'queued' | 'joined' | 'already_released' | 'rejected';
  readonly because: string;
}

function submit(model: TargetModel, plan: Plan): Answer {
  const same = (other: Plan | undefined): boolean =>
    other?.artifact === plan.artifact && other.variant === plan.variant;
  const waiting = model.queue.find((other) => same(other.plan));
  if (waiting !== undefined) {
    return { releaseId: waiting.id, disposition: 'joined', because: 'is waiting' };
  }
  const { running } = model;
  const isRunning = running !== null && same(running.plan);
  const itsSubmissions = model.submissions.filter(({ releaseId }) => releaseId === running?.id);
  const isWithdrawn = itsSubmissions.length > 0 && itsSubmissions.every(({ withdrawn }) => withdrawn);
  const isGivenUp = isWithdrawn || model.rollbacks.length > 0;
  if (isRunning && isGivenUp) model.met.add('a release comes again while it is stopped');
  if (isRunning && !isGivenUp) {
    return { releaseId: running.id, disposition: 'joined', because: 'is running' };
  }
  const isWhatServes = ({ outcome, revision, plan: other }: Partial<Ending>): boolean =>
    outcome === 'released' && same(other) && isSame(model.known, revision ?? null, model.believed);
  const serving =
    running === null && model.queue.length === 0 && model.believed !== null
      ? model.endings.findLast(isWhatServes)
      : undefined;
  // Sent only after the serving revision has been read.
  if (serving !== undefined && model.believed === model.active) {
    return { releaseId: serving.id, disposition: 'already_released', because: 'is what serves' };
  }

  const releaseId = model.number('release');
  const refused =
    model.hold !== null && !plan.overrideHold
      ? 'on hold since'
      : model.quarantined.has(plan.artifact)
        ? 'in quarantine since'
        : undefined;
  if (refused !== undefined) {
    model.neverStarted([releaseId], 'rejected');
    return { releaseId, disposition: 'rejected', because: refused };
  }
  model.taken = true;
  const queued = { id: releaseId, plan };
  if (plan.queue === 'latest') {
    model.neverStarted(
      model.queue.map(({ id }) => id),
      'superseded',
    );
    model.queue = [queued];
  } else {
    model.queue = [...model.queue, queued];
  }
  return { releaseId, disposition: 'queued', because: running === null ? 'starting' : 'its turn' };
}

function words(plan: Plan): string {
  const { artifact, variant, queue, overrideHold, stop, freeze, onError, asks, guard } = plan;
  const { create, upload, patch, check, soak, redeploy } = plan;
  const unusual = Object.entries({ create, upload, patch, check, redeploy })
    .filter(([, answer]) => answer !== 'answered')
    .map(([call, answer]) => `${call} ${answer}`);
  return [
    `${artifact}/${variant}`,
    queue,
    ...(overrideHold ? ['overriding the hold'] : []),
    ...(stop === null ? [] : [`held up at ${stop}`]),
    ...(freeze === 'none' ? [] : [`freeze ${freeze}`]),
    `on error ${onError}`,
    `asks ${asks}`,
    ...(soak === 'none' ? [] : [`soak ${soak}`]),
    ...(guard === null ? [] : [`guarded, no data: ${guard.noData}${guard.holds ? '' : ', no hold'}`]),
    ...unusual,
  ].join(', ');
}
