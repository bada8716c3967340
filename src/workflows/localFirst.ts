import { ApplicationFailureCategory } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  sleep,
} from '@temporalio/workflow';

import type { Activities, Attempted } from '../activities/activities.ts';
import { grantedPauseMs } from '../domain/step.ts';
import { explain } from './failure.ts';
import { perWorkflow } from './perWorkflow.ts';
import type { LocalStepOptions, StepActivityOptions } from './traces.ts';

/**
 * Idempotent reads, small records and small uploads. Each is first tried as a local activity, in the worker that runs the
 * workflow. That leaves one event instead of three and needs no extra workflow task.
 *
 * Never in a target. A local activity delays the target's messages. A query during one splits the workflow task in
 * two, and a replay may merge them, but a target makes decisions from its history length (`target/runLength.ts`).
 */
const LOCAL_FIRST: ReadonlySet<string> = new Set<keyof Activities>([
  'findDeployment',
  'claimDeployment',
  'readDeployment',
  'readRevision',
  'listRevisions',
  'askAgent',
  'lookAtFreezes',
  'uploadArtifact',
  'awaitDeployed',
  'confirmServing',
  'readChecks',
  'recordRelease',
]);

/** The limit for one local activity, in milliseconds: a signal waits for it. */
const TRY_MS = 1_000;
/** The total time after which a workflow task starts no further local activity, in milliseconds. */
const TRIED_MAX_MS = 500;

const tries = perWorkflow('tries', () => ({
  /** The time of this task's local activities, in milliseconds. The workflow's clock differs in a replay. */
  tookMs: 0,
  /** Whether a local activity was too slow: later ones probably are, too. */
  areTooSlow: false,
  /** How many are running. */
  running: 0,
}));

export function isTrying(): boolean {
  return tries().running > 0;
}

/** Call it at the beginning of each workflow task. */
export function beginTries(): void {
  tries().tookMs = 0;
}

/** Runs an activity. A repeatable one is first tried as a local activity. */
export function localFirst<Name extends keyof Activities>(
  name: Name,
  options: StepActivityOptions,
): Activities[Name] {
  if (!LOCAL_FIRST.has(name)) return throughServer(name, options);
  return ((input: unknown) => tryLocally(name, options, input)) as Activities[Name];
}

/** Runs an activity through the server. */
export function throughServer<Name extends keyof Activities>(
  name: Name,
  options: StepActivityOptions,
): Activities[Name] {
  return proxyActivities<Activities>(options)[name];
}

async function tryLocally(
  name: keyof Activities,
  options: StepActivityOptions,
  input: unknown,
): Promise<unknown> {
  const began = Date.now();
  const ordinary = (changed = options) => (throughServer(name, changed) as Call)(input);
  if (tries().areTooSlow || tries().tookMs > TRIED_MAX_MS) return ordinary();
  const { summary, cancellationType, scheduleToCloseTimeout: deadlineMs, retry, step } = options;
  const localOptions: LocalStepOptions = {
    summary,
    cancellationType,
    step,
    startToCloseTimeout: TRY_MS,
    scheduleToCloseTimeout: TRY_MS,
    retry: { maximumAttempts: 1 },
  };
  const local = proxyLocalActivities<Activities>(localOptions);
  let pauseMs = 0;
  tries().running++;
  try {
    const result = await (local[name] as Call)(input);
    tries().tookMs += result.tookMs ?? 0;
    return result;
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error;
    const isAnswer = cause instanceof ApplicationFailure;
    const isOnly = retry?.maximumAttempts === 1 && isAnswer && cause.category !== NOT_YET;
    const isFinal = isAnswer && cause.nonRetryable === true;
    if (isCancellation(error) || isFinal || isOnly) throw error;
    if (!isAnswer) tries().areTooSlow = true;
    pauseMs = explain(error).retryAfterMs ?? 0;
  } finally {
    tries().running--;
  }
  if (typeof deadlineMs !== 'number') return ordinary();
  const leftMs = (): number => Math.max(began + deadlineMs - Date.now(), 1);
  if (pauseMs > 0) await sleep(grantedPauseMs(pauseMs, leftMs(), deadlineMs));
  return ordinary({ ...options, scheduleToCloseTimeout: leftMs() });
}

/** A poll that found nothing yet is not a failure. */
const NOT_YET = ApplicationFailureCategory.BENIGN;

type Call = (input: unknown) => Promise<Attempted<object>>;
