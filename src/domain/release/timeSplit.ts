import type { StepName } from '../step.ts';
import type { Progress, StepRecord } from './release.ts';

/** How the time of a release was spent, in milliseconds. The parts add up to the whole. */
export interface TimeSplit {
  /** Calls to the control plane, and its builds and deployments. */
  readonly controlPlane: number;
  /** Checks, and the pipeline itself. */
  readonly machine: number;
  /** Soaks and bakes. */
  readonly soak: number;
  /** Approvals, pauses and decisions. */
  readonly people: number;
  /** Freezes. */
  readonly freezes: number;
}

/** The parts of a release's progress that determine its time split. */
export interface TimedRelease extends Pick<Progress, 'startedAt' | 'steps' | 'interventions' | 'waiting'> {
  /** Absent if it has not ended. */
  readonly endedAt?: string;
}

const OF_CONTROL_PLANE: ReadonlySet<StepName> = new Set([
  'find',
  'create',
  'upload',
  'patch',
  'deployed',
  'serving',
  'redeploy',
  'watch',
]);
const SOAKS: ReadonlySet<StepName> = new Set(['soak', 'bake']);
/** The shortest time between two steps that counts as a wait, in milliseconds. */
const SHORTEST_WAIT_MS = 250;

/**
 * Splits the time of a release. Time between two steps is waiting time: for a person, if one intervened or is
 * awaited; after a freeze check, for a freeze. If steps overlap, the first counts.
 * @param now - for a release that has not ended, in milliseconds since 1970.
 */
export function splitTime(
  { startedAt, endedAt, steps, interventions, waiting }: TimedRelease,
  now: number,
): TimeSplit {
  const split = { controlPlane: 0, machine: 0, soak: 0, people: 0, freezes: 0 };
  const end = endedAt === undefined ? now : Date.parse(endedAt);
  let at = Date.parse(startedAt);
  let before: StepRecord | undefined;
  const wait = (until: number): void => {
    const gap = Math.max(until - at, 0);
    const said = interventions.some(({ at: when, taken }) => {
      const time = Date.parse(when);
      return taken && time >= at && time <= until + SHORTEST_WAIT_MS;
    });
    const isForPeople = said || (until === end && waiting !== null && waiting.for !== 'freeze');
    if (gap < SHORTEST_WAIT_MS) split.machine += gap;
    else if (isForPeople) split.people += gap;
    else split[before?.step === 'freeze' ? 'freezes' : 'machine'] += gap;
    at = Math.max(at, until);
  };
  const ordered = [...steps].sort((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt));
  for (const step of ordered) {
    wait(Math.min(Date.parse(step.startedAt), end));
    const until = Math.min(step.endedAt === undefined ? end : Date.parse(step.endedAt), end);
    const took = Math.max(until - at, 0);
    split[partOf(step.step)] += took;
    at = Math.max(at, until);
    before = step;
  }
  wait(end);
  return split;
}

function partOf(step: StepName): 'controlPlane' | 'machine' | 'soak' {
  if (SOAKS.has(step)) return 'soak';
  return OF_CONTROL_PLANE.has(step) ? 'controlPlane' : 'machine';
}
