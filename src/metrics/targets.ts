import type { QueryDefinition } from '@temporalio/common';
import pLimit from 'p-limit';

import { type Measure, type MetricName, TARGETS_MAX } from '../domain/metrics/metrics.ts';
import type { Progress } from '../domain/release/release.ts';
import { progressQuery } from '../messages/release.ts';
import { type TargetView, viewQuery } from '../messages/target.ts';
import type { TemporalConnection } from '../temporal/client/connection.ts';
import { pause } from '../temporal/client/pause.ts';
import { listTargets } from '../temporal/client/target/targetClient.ts';
import { pollingWorkers } from '../temporal/client/workerPresence.ts';

const EVERY_MS = 30_000;
const ANSWER_WITHIN_MS = 5_000;
const AT_ONCE = 4;

/**
 * Records what no single event shows: queues, holds, how long work has been running, workers. It reads Temporal, so
 * all workers report the same values. It queries a workflow only if its history has grown, so idle targets cost no
 * query.
 * @param signal - ends it.
 * @param everyMs - the interval between two rounds. Default: 30 s.
 */
export async function observeTargets(
  temporal: TemporalConnection,
  measure: Measure,
  { signal, everyMs = EVERY_MS }: { readonly signal: AbortSignal; readonly everyMs?: number },
): Promise<void> {
  const ask = questionsTo(temporal);
  const report = reportTo(measure);
  const atOnce = pLimit(AT_ONCE);
  let known: ReadonlyMap<string, TargetFigures> = new Map();
  const look = async (): Promise<void> => {
    const targets = await listTargets(temporal);
    const asked = targets.slice(0, TARGETS_MAX);
    let unanswered = 0;
    const seen = await atOnce.map(asked, async ({ workflowId }) => {
      const figures = await figuresOf(ask, workflowId).catch(() => {
        unanswered += 1;
        // With 0 instead, the alert on a target that needs a person would end.
        return known.get(workflowId);
      });
      return [workflowId, figures ?? []] as const;
    });
    signal.throwIfAborted();
    known = new Map(seen);
    ask.keep();
    measure('slipway_targets', targets.length, {});
    measure('slipway_unanswered_targets', unanswered, {});
    report([...known.values()].flat());
    measure('slipway_workers', (await pollingWorkers(temporal)).length, {});
  };
  while (!signal.aborted) {
    try {
      // Each round gets its own signal, because the SDK never removes its listeners. A worker that ends waits for no answer.
      await temporal.client.withAbortSignal(AbortSignal.any([signal]), look);
    } catch {
      // Temporal cannot be reached: the SDK's own metrics count its failures. The next round tries again.
    }
    await pause(everyMs, signal);
  }
}

/** The gauges of a target; `null` if it has never accepted a release. */
async function figuresOf(ask: Questions, workflowId: string): Promise<TargetFigures | null> {
  const view: TargetView = await ask(workflowId, viewQuery);
  const progress: Progress | null =
    view.running === null
      ? null
      : // The workflow may have just ended.
        await ask(view.running.workflowId, progressQuery).catch(() => null);
  return targetFigures(view, progress, Date.now());
}

interface Questions {
  <T>(workflowId: string, query: QueryDefinition<T>): Promise<T>;
  /** Drops the answers of workflows that were not queried since the last call. */
  keep(): void;
}

interface KeptAnswer {
  readonly version: string;
  readonly answer: unknown;
}

/** Queries workflows, but reuses the last answer of a workflow whose history has not grown. */
function questionsTo({ client }: TemporalConnection): Questions {
  let before = new Map<string, KeptAnswer>();
  let now = new Map<string, KeptAnswer>();
  const ask = async <T>(workflowId: string, query: QueryDefinition<T>): Promise<T> => {
    const handle = client.workflow.getHandle(workflowId);
    return client.withDeadline(Date.now() + ANSWER_WITHIN_MS, async () => {
      const { runId, historyLength } = await handle.describe();
      const version = `${runId} ${historyLength}`;
      const known = before.get(workflowId);
      const kept = known?.version === version ? known : { version, answer: await handle.query(query) };
      now.set(workflowId, kept);
      return kept.answer as T;
    });
  };
  const keep = (): void => {
    before = now;
    now = new Map();
  };
  return Object.assign(ask, { keep });
}

/** Sets the gauges of targets. A gauge that is no longer reported becomes 0. */
function reportTo(measure: Measure): (all: TargetFigures) => void {
  let before: TargetFigures = [];
  return (all) => {
    const sums = new Map<string, TargetFigures[number]>();
    // Targets of two repositories may have the same name.
    for (const figure of [...before.map((old) => ({ ...old, value: 0 })), ...all]) {
      const key = `${figure.name} ${JSON.stringify(figure.labels)}`;
      const value = (sums.get(key)?.value ?? 0) + figure.value;
      sums.set(key, { ...figure, value });
    }
    for (const { name, value, labels } of sums.values()) measure(name, value, labels as never);
    before = all;
  };
}

type TargetFigures = readonly {
  readonly name: MetricName;
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}[];

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
