import type { Progress, StepRecord, Waiting } from '../release/release.ts';

/** What the time of a release, a rollback or a promotion was spent on, in milliseconds. */
export interface SpentTime {
  readonly machine: number;
  /** Until the control plane had deployed a revision, and served it. */
  readonly control_plane: number;
  /** Approvals, decisions and pauses. */
  readonly people: number;
  readonly freeze: number;
  readonly soak: number;
}

const ON_CONTROL_PLANE: ReadonlySet<string> = new Set(['deployed', 'serving']);
const SOAKS: ReadonlySet<string> = new Set(['soak', 'bake']);

/**
 * Splits the time until now. What is left is the machine's.
 *
 * @param waitedMs - the time of all waits that have ended, by what was waited for.
 * @param now - in milliseconds since 1970.
 */
export function spentTime(
  startedAt: string,
  steps: readonly StepRecord[],
  waitedMs: Readonly<Partial<Record<Waiting['for'], number>>>,
  now: number,
): SpentTime {
  const of = (names: ReadonlySet<string>): number =>
    steps.filter(({ step }) => names.has(step)).reduce((sum, step) => sum + (stepMs(step) ?? 0), 0);
  const { approval = 0, decision = 0, resume = 0, freeze = 0 } = waitedMs;
  const other = {
    control_plane: of(ON_CONTROL_PLANE),
    people: approval + decision + resume,
    freeze,
    soak: of(SOAKS),
  };
  const rest = now - Date.parse(startedAt) - other.control_plane - other.people - freeze - other.soak;
  return { machine: Math.max(rest, 0), ...other };
}

/** How long a step took, in milliseconds; `undefined`: it has not ended. */
export function stepMs({
  startedAt,
  endedAt,
}: Pick<StepRecord, 'startedAt' | 'endedAt'>): number | undefined {
  return endedAt === undefined ? undefined : Math.max(Date.parse(endedAt) - Date.parse(startedAt), 0);
}

/**
 * The time to roll back, in milliseconds: until the restored revision served. It begins when the release failed or was
 * stopped; for a rollback that a person asked for, when that started. `undefined`: nothing was restored.
 */
export function restoreMs(
  { kind, startedAt }: Pick<Progress, 'kind' | 'startedAt'>,
  steps: readonly StepRecord[],
): number | undefined {
  const served = steps.findLast(
    ({ restoring, step, status }) => restoring && step === 'serving' && status === 'done',
  );
  if (served?.endedAt === undefined) return undefined;
  const first = steps.findIndex(({ restoring }) => restoring);
  const failed = steps
    .slice(0, first)
    .findLast(({ status }) => status === 'failed' || status === 'canceled')?.endedAt;
  const from = kind === 'rollback' ? startedAt : (failed ?? steps[first]?.startedAt ?? startedAt);
  return Math.max(Date.parse(served.endedAt) - Date.parse(from), 0);
}
