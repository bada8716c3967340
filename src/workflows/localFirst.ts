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
import type { CheckInput } from '../activities/check/checkInput.ts';
import { isOneRun } from '../domain/check/check.ts';
import { grantedPauseMs } from '../domain/step.ts';
import { explain } from './failure.ts';
import { perWorkflow } from './perWorkflow.ts';
import type { LocalStepOptions, StepActivityOptions } from './traces.ts';

/**
 * Idempotent reads, small records, small uploads, and checks that are quick. Each is first tried as a local activity, in
 * the worker that runs the workflow. That leaves one event instead of three and needs no extra workflow task.
 *
 * Each has the limit for one try, in milliseconds: the workflow's messages and timers wait for it (`taskBoundaries.ts`). A
 * target has one only before it takes its first message: it is queried often, and core fails some tasks in which a query
 * meets a local activity ("Attempted to check for LA marker handling in invalid state").
 */
const LOCAL_FIRST: { readonly [Name in keyof Activities]?: number } = {
  recallTarget: 1_000,
  findDeployment: 1_000,
  claimDeployment: 1_000,
  readDeployment: 1_000,
  readRevision: 1_000,
  listRevisions: 1_000,
  askAgent: 1_000,
  lookAtFreezes: 1_000,
  uploadArtifact: 1_000,
  awaitDeployed: 1_000,
  confirmServing: 1_000,
  runCheck: 300,
  readChecks: 1_000,
  recordRelease: 1_000,
};

/** The total time after which a workflow task starts no further local activity, in milliseconds. */
const TRIED_MAX_MS = 500;

type UploadInput = Parameters<Activities['uploadArtifact']>[0];

const tries = perWorkflow('tries', () => ({
  /** The time of this task's local activities, in milliseconds. The workflow's clock differs in a replay. */
  tookMs: 0,
  /** Whether a local activity was too slow: later ones probably are, too. */
  areTooSlow: false,
  running: 0,
}));

/** How many local activities run. */
export function triesRunning(): number {
  return tries().running;
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
  const limitMs = LOCAL_FIRST[name];
  if (limitMs === undefined) return throughServer(name, options);
  return ((input: object) =>
    isShort(input)
      ? tryLocally(name, options, limitMs, input)
      : (throughServer(name, options) as Call)(input)) as Activities[Name];
}

/** A larger upload and a slower check go through the server at once: they could take longer than a try may. */
const UPLOAD_MAX_BYTES = 1_000_000;
const CHECK_MAX_MS = 100;

function isShort(input: Partial<UploadInput & CheckInput>): boolean {
  const { artifact, check, expectedMs = Infinity } = input;
  if (check !== undefined) return expectedMs <= CHECK_MAX_MS && isOneRun(check);
  return artifact === undefined || artifact.sizeBytes <= UPLOAD_MAX_BYTES;
}

export function throughServer<Name extends keyof Activities>(
  name: Name,
  options: StepActivityOptions,
): Activities[Name] {
  return proxyActivities<Activities>(options)[name];
}

async function tryLocally(
  name: keyof Activities,
  options: StepActivityOptions,
  limitMs: number,
  input: object,
): Promise<unknown> {
  const began = Date.now();
  const ordinary = (changed = options) => (throughServer(name, changed) as Call)(input);
  if (tries().areTooSlow || tries().tookMs > TRIED_MAX_MS) return ordinary();
  const { summary, cancellationType, scheduleToCloseTimeout: deadlineMs, retry, step } = options;
  const localOptions: LocalStepOptions = {
    summary,
    cancellationType,
    step,
    startToCloseTimeout: limitMs,
    scheduleToCloseTimeout: limitMs,
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

type Call = (input: object) => Promise<Attempted<object>>;
