import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  sleep,
} from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import { grantedPauseMs } from '../domain/step.ts';
import { explain } from './failure.ts';

/**
 * Reads, first looks and small records: to repeat them is harmless. Each is first tried as a local activity, by the worker
 * that runs the workflow. That leaves one event instead of three, and needs no workflow task of its own.
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
  'keepTarget',
  'recallTarget',
]);

/** The longest that one try takes, in milliseconds. A signal waits for it: it comes with the next workflow task. */
const TRY_MS = 1_000;
/** No try begins later in a workflow task, in milliseconds. The server would renew the task at 80 % of its timeout (3 s). */
const BEGUN_WITHIN_MS = 500;

/** Each workflow has its own copy of this module. */
const tries = {
  /** When the first try of the workflow task began, in milliseconds since 1970. */
  since: undefined as number | undefined,
  /** Whether a try took too long: the next ones would, too. */
  areTooSlow: false,
};

/** To be called at the beginning of each workflow task. */
export function beginTries(): void {
  tries.since = undefined;
}

/** An activity through the server; one that may be repeated is tried locally first. */
export function localFirst<Name extends keyof Activities>(
  name: Name,
  options: ActivityOptions,
): Activities[Name] {
  if (!LOCAL_FIRST.has(name)) return throughServer(name, options);
  return ((input: unknown) => tryLocally(name, options, input)) as Activities[Name];
}

/** An activity through the server. */
export function throughServer<Name extends keyof Activities>(
  name: Name,
  options: ActivityOptions,
): Activities[Name] {
  return proxyActivities<Activities>(options)[name];
}

async function tryLocally(
  name: keyof Activities,
  options: ActivityOptions,
  input: unknown,
): Promise<unknown> {
  const began = Date.now();
  tries.since ??= began;
  const ordinary = (changed = options) => (throughServer(name, changed) as Call)(input);
  if (tries.areTooSlow || began - tries.since > BEGUN_WITHIN_MS) return ordinary();
  const { summary, cancellationType, scheduleToCloseTimeout: deadlineMs, retry } = options;
  const local = proxyLocalActivities<Activities>({
    ...{ summary, cancellationType },
    startToCloseTimeout: TRY_MS,
    scheduleToCloseTimeout: TRY_MS,
    retry: { maximumAttempts: 1 },
  });
  let pauseMs = 0;
  try {
    return await (local[name] as Call)(input);
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error;
    const isAnswer = cause instanceof ApplicationFailure;
    const isFinal = isAnswer && (cause.nonRetryable === true || retry?.maximumAttempts === 1);
    if (isCancellation(error) || isFinal) throw error;
    if (!isAnswer) tries.areTooSlow = true;
    pauseMs = explain(error).retryAfterMs ?? 0;
  }
  if (typeof deadlineMs !== 'number') return ordinary();
  const leftMs = (): number => Math.max(began + deadlineMs - Date.now(), 1);
  if (pauseMs > 0) await sleep(grantedPauseMs(pauseMs, leftMs(), deadlineMs));
  return ordinary({ ...options, scheduleToCloseTimeout: leftMs() });
}

type Call = (input: unknown) => Promise<unknown>;
