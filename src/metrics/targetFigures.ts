import type { MetricName } from '../domain/metrics/metrics.ts';
import type { Progress } from '../domain/release/release.ts';
import type { TargetView } from '../messages/target.ts';

/** The gauges of one target. */
export type TargetFigures = readonly {
  readonly name: MetricName;
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}[];

/** Steps whose duration is configured. */
const TIMED_STEPS: ReadonlySet<string> = new Set(['soak', 'bake']);

/**
 * The gauges of a target; `null` if it has never accepted a release, and so has no name.
 * @param progress - of its running work; `null` if nothing runs or it is not known.
 * @param now - in milliseconds since 1970.
 */
export function targetFigures(
  { state, running }: Pick<TargetView, 'state' | 'running'>,
  progress: Progress | null,
  now: number,
): TargetFigures | null {
  if (state.spec === null) return null;
  const target = state.spec.name;
  const since = (at: string | undefined): number =>
    at === undefined ? 0 : Math.max(now - Date.parse(at), 0) / 1_000;
  const waiting = progress?.waiting ?? null;
  const step =
    waiting === null
      ? progress?.steps.find(({ status, step: name }) => status === 'running' && !TIMED_STEPS.has(name))
      : undefined;
  const person = state.needsPerson;
  const outcome =
    person === null
      ? undefined
      : (state.history.findLast(({ releaseId }) => releaseId === person.releaseId)?.outcome ?? 'errored');
  return [
    { name: 'slipway_target_queue_length', value: state.queue.length, labels: { target } },
    { name: 'slipway_target_on_hold', value: state.hold === null ? 0 : 1, labels: { target } },
    {
      name: 'slipway_target_running_seconds',
      value: running === null ? 0 : since(progress?.startedAt),
      labels: { target },
    },
    { name: 'slipway_target_step_seconds', value: since(step?.startedAt), labels: { target } },
    ...(waiting === null
      ? []
      : [
          {
            name: 'slipway_target_waiting_seconds' as const,
            value: since(waiting.since),
            labels: { target, for: waiting.for },
          },
        ]),
    ...(outcome === undefined
      ? []
      : [{ name: 'slipway_target_needs_person' as const, value: 1, labels: { target, outcome } }]),
  ];
}
