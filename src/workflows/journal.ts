import { setCurrentDetails, setHandler, uuid4 } from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import type { Actor } from '../domain/actor.ts';
import { cutText } from '../domain/bounds.ts';
import type { Check } from '../domain/check/check.ts';
import type { RunningCall } from '../domain/heartbeat.ts';
import { addIntervention, type InterventionRecord } from '../domain/intervention/intervention.ts';
import type { Outcome } from '../domain/release/outcome.ts';
import {
  type Baseline,
  boundedSteps,
  boundedVerdicts,
  type CheckVerdict,
  type JudgementRecord,
  type Progress,
  startingProgress,
  type StepRecord,
  type Waiting,
} from '../domain/release/release.ts';
import type { StepName, StepOverrides } from '../domain/step.ts';
import { coverChecks, patiently } from '../domain/stepTable.ts';
import { describeProgress, stepElapsedMs, stepTitle } from '../domain/story.ts';
import { progressQuery } from '../messages/release.ts';
import { explain } from './failure.ts';
import { measure, measureEnd } from './measure.ts';
import { activitiesOf } from './steps.ts';
import { takeUnknownSignals } from './unknownSignals.ts';

const SUBJECT_MAX_BYTES = 400;
const DETAIL_MAX_BYTES = 2_000;

/** What a step returns: its result, and what to record about it. */
export interface StepDone<T> {
  readonly result: T;
  readonly detail?: string;
  readonly attempt?: number;
}

/** Runs the steps of a release or rollback, and records them for `progress`, Temporal's UI, and the record. */
export class Journal {
  restoring = false;
  readonly store: string;
  readonly #overrides: StepOverrides;
  readonly #steps: StepRecord[] = [];
  #progress: Progress;

  constructor(releaseId: string, kind: Progress['kind'], overrides: StepOverrides, store: string) {
    this.store = store;
    this.#overrides = overrides;
    this.#progress = startingProgress({ releaseId, kind, startedAt: now() });
    setHandler(progressQuery, () => this.#progress, {
      description: 'Each step so far, and what it does now',
    });
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** The steps' overrides, with longer deadlines during a restore. */
  get overrides(): StepOverrides {
    return this.restoring ? patiently(this.#overrides) : this.#overrides;
  }

  note(fact: {
    deploymentId?: string;
    revisionId?: string;
    baseline?: Baseline;
    phase?: string;
    judgement?: JudgementRecord;
    requestedBy?: Actor;
    madeBy?: readonly Actor[];
    watchUntil?: string;
    found?: RunningCall;
  }): void {
    this.#update(fact);
  }

  verdict(verdict: CheckVerdict): void {
    this.#update({ verdicts: boundedVerdicts([...this.#progress.verdicts, verdict]) });
    measure('slipway_checks', 1, {
      verdict: verdict.passed ? 'passed' : 'failed',
      restoring: String(this.restoring),
    });
  }

  /** The longest run of a check on a revision, in milliseconds; `undefined` if none ran. */
  answersWithinMs(revisionId: string): number | undefined {
    const of = this.#progress.verdicts.filter((verdict) => verdict.revisionId === revisionId);
    return of.length === 0 ? undefined : Math.ceil(Math.max(...of.map(({ latencyMs }) => latencyMs)));
  }

  /** Records what the workflow waits for; `null` if it no longer waits. */
  waiting(waiting: Waiting | null): void {
    const before = this.#progress.waiting;
    if (before !== null && waiting === null) {
      measure('slipway_wait_seconds', (Date.now() - Date.parse(before.since)) / 1_000, { for: before.for });
    }
    this.#update({ waiting, phase: waiting?.note ?? this.#progress.phase });
  }

  intervention(record: InterventionRecord): void {
    this.#update({ interventions: addIntervention(this.#progress.interventions, record) });
  }

  /** Records the sender of an accepted intervention, once proved. */
  provedIntervention(id: string, by: Actor): void {
    const { interventions } = this.#progress;
    this.#update({
      interventions: interventions.map((said) => (said.taken && said.id === id ? { ...said, by } : said)),
    });
  }

  skipped(step: StepName, subject: string): void {
    const at = now();
    const record: StepRecord = {
      step,
      subject,
      restoring: this.restoring,
      startedAt: at,
      endedAt: at,
      status: 'skipped',
    };
    this.#steps.push(record);
    this.#update({ steps: boundedSteps(this.#steps) });
  }

  end(outcome: Outcome, instructions: string | null): void {
    this.#update({ outcome, instructions, phase: outcome });
    measureEnd({ ...this.#progress, steps: this.#steps, outcome });
  }

  /**
   * Runs one step with the limits of its row in `domain/stepTable.ts`.
   * @param subject - what the step works on, for people to read.
   * @param checks - the checks of one attempt: they determine its deadlines.
   * @throws what the step threw, after recording it.
   */
  async step<T>(
    step: StepName,
    subject: string | undefined,
    work: (activities: Activities) => Promise<StepDone<T>>,
    checks: readonly Check[] = [],
  ): Promise<T> {
    const record: StepRecord = {
      step,
      subject: subject === undefined ? undefined : cutText(subject, SUBJECT_MAX_BYTES),
      restoring: this.restoring,
      startedAt: now(),
      status: 'running',
    };
    this.recordUnknownSignals();
    const index = this.#steps.push(record) - 1;
    const title = stepTitle(record);
    this.#update({ phase: title, steps: boundedSteps(this.#steps) });
    const settle = ({ detail, ...settled }: Partial<StepRecord>): void => {
      const cut = detail === undefined ? undefined : cutText(detail, DETAIL_MAX_BYTES);
      const ended: StepRecord = { ...record, endedAt: now(), ...settled, detail: cut };
      this.#steps[index] = ended;
      this.#update({ steps: boundedSteps(this.#steps), found: undefined });
      const { status, attempts = 1 } = ended;
      measure('slipway_step_duration_seconds', stepElapsedMs(ended, Date.now()) / 1_000, { step, status });
      measure('slipway_step_attempts', attempts, { step });
    };
    try {
      const covered = checks.length === 0 ? this.#overrides : coverChecks(step, this.#overrides, checks);
      const overrides = this.restoring ? patiently(covered) : covered;
      const { result, detail, attempt } = await work(
        activitiesOf(step, overrides, title, { restoring: this.restoring }),
      );
      settle({ status: 'done', detail, attempts: attempt });
      return result;
    } catch (error) {
      const failure = explain(error);
      settle({
        status: failure.canceled ? 'canceled' : 'failed',
        detail: failure.message,
        attempts: failure.attempts,
      });
      throw error;
    } finally {
      this.recordUnknownSignals();
    }
  }

  /** Records signals with unknown names. Call it before long waits, too. */
  recordUnknownSignals(): void {
    takeUnknownSignals((name, reason) => {
      const by = { who: 'unknown', from: 'signal' };
      this.intervention({
        id: uuid4(),
        kind: 'unknown',
        by,
        at: now(),
        taken: false,
        note: `${name}: ${reason}`,
      });
    });
  }

  #update(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change };
    setCurrentDetails(describeProgress(this.#progress));
  }
}

/** The workflow's own time, deterministic under replay: ISO 8601. */
export function now(): string {
  return new Date().toISOString();
}
