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
import type { StepActivityOptions } from './traces.ts';

/**
 * Reads, first looks and small records: to repeat them is harmless. Each is first tried as a local activity, by the worker
 * that runs the workflow. That leaves one event instead of three, and needs no workflow task of its own.
 *
 * Not those of a target: a message to it waits for no try. And a query during a try divides the workflow task in two, of
 * which a rebuild may make one, but a target decides by the length of its history (`target/runLength.ts`).
 */
const LOCAL_FIRST: ReadonlySet<string> = new Set<keyof Activities>([
  'findDeployment',
  'claimDeployment',
  'readDeployment',
  'readRevision',
  'listRevisions',
  'askAgent',
  'lookAtFreezes',
  'awaitDeployed',
  'confirmServing',
  'readChecks',
  'recordRelease',
]);

/** The longest that one try takes, in milliseconds. A signal waits for it: it comes with the next workflow task. */
const TRY_MS = 1_000;
/** How long the tries of one workflow task may have taken before one more begins, in milliseconds. */
const TRIED_MAX_MS = 500;

const tries = perWorkflow('tries', () => ({
  /**
   * How long those of the workflow task have taken, in milliseconds, as their results say. The workflow's clock does not
   * tell: if the server has renewed the task, the clock is another one when the workflow is rebuilt.
   */
  tookMs: 0,
  /** Whether a try took too long: the next ones would, too. */
  areTooSlow: false,
  /** How many run. */
  running: 0,
}));

/** Whether a try runs. */
export function isTrying(): boolean {
  return tries().running > 0;
}

/** To be called at the beginning of each workflow task. */
export function beginTries(): void {
  tries().tookMs = 0;
}

/** An activity through the server; one that may be repeated is tried locally first. */
export function localFirst<Name extends keyof Activities>(
  name: Name,
  options: StepActivityOptions,
): Activities[Name] {
  if (!LOCAL_FIRST.has(name)) return throughServer(name, options);
  return ((input: unknown) => tryLocally(name, options, input)) as Activities[Name];
}

/** An activity through the server. */
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
  const local = proxyLocalActivities<Activities>({
    ...{ summary, cancellationType, step },
    startToCloseTimeout: TRY_MS,
    scheduleToCloseTimeout: TRY_MS,
    retry: { maximumAttempts: 1 },
  });
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

/** A look that found nothing yet is no failure. */
const NOT_YET = ApplicationFailureCategory.BENIGN;

type Call = (input: unknown) => Promise<Attempted<object>>;
