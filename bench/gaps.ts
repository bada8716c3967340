// How an idle release spends its time: the gaps in its history, as medians over several releases. bench/README.md says
// how to read them.
//
//   npm run bench -- gaps [--count 20]
import { randomUUID } from 'node:crypto';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { startEngine } from './engine.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest, releaseResult } from './release.ts';
import { startStandIn } from './standIn.ts';
import { numbersOf, say, sayResult, summarize, table } from './statistics.ts';

/** The first releases open connections and warm up the JIT compiler. */
const WARM_UP = 3;

/** A history event in the JSON format of Temporal's tools. */
interface HistoryEvent {
  readonly eventType: string;
  readonly eventTime: string;
  readonly activityTaskScheduledEventAttributes?: { readonly activityType: { readonly name: string } };
}

/** The time between two consecutive events of a release. */
interface Gap {
  readonly name: string;
  readonly ms: number;
}

/** Names of gaps: an activity waits for a worker, or runs; a workflow task waits for a worker, or runs. */
const NAMES: Readonly<Record<string, (activity: string) => string>> = {
  ACTIVITY_TASK_STARTED: (activity) => `${activity}: waits for a worker`,
  ACTIVITY_TASK_COMPLETED: (activity) => `${activity}: runs`,
  WORKFLOW_TASK_STARTED: (activity) => `workflow task after ${activity || 'the start'}: waits for a worker`,
  WORKFLOW_TASK_COMPLETED: (activity) => `workflow task after ${activity || 'the start'}: decides`,
};

const { count } = numbersOf({ count: 20 });

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startEngine(say);
try {
  const artifact = await putArtifact(engine.folder);
  for (let turn = 0; turn < WARM_UP; turn++) await gapsOfRelease(artifact);
  const releases: (readonly Gap[])[] = [];
  for (let turn = 0; turn < count; turn++) releases.push(await gapsOfRelease(artifact));
  report(releases);
} finally {
  await engine.close();
  await services.close();
}

/** Runs one release, and reads the gaps of its history. */
async function gapsOfRelease(artifact: TarballArtifact): Promise<readonly Gap[]> {
  const { workflow } = engine.temporal.client;
  const deployment = services.deploy(`bench-${randomUUID()}`, 'answers rightly');
  const request = releaseRequest(services.url, deployment, artifact);
  const { releaseId } = await submitRelease(engine.temporal, request);
  const targetId = targetWorkflowId(request.target);
  const release = workflow.getHandle(`${targetId}/${releaseId}`);
  await releaseResult(engine.temporal, release.workflowId);
  const histories = [await workflow.getHandle(targetId).fetchHistory(), await release.fetchHistory()];
  await workflow.getHandle(targetId).terminate('measured');
  const [ofTarget = [], ofRelease = []] = histories.map(
    (history) => (JSON.parse(historyToJSON(history)) as { readonly events: readonly HistoryEvent[] }).events,
  );
  const before = timeOf(ofRelease[0]) - timeOf(ofTarget[0]);
  return [{ name: 'target: until it starts the release', ms: before }, ...gapsOf(ofRelease)];
}

/** Names each gap after the event that ends it and the last activity. */
function gapsOf(events: readonly HistoryEvent[]): readonly Gap[] {
  let activity = '';
  return events.slice(1).map((event, index) => {
    const type = event.eventType.replace('EVENT_TYPE_', '');
    activity = event.activityTaskScheduledEventAttributes?.activityType.name ?? activity;
    const name = NAMES[type]?.(activity) ?? type.toLowerCase().replaceAll('_', ' ');
    return { name, ms: timeOf(event) - timeOf(events[index]) };
  });
}

function timeOf(event: HistoryEvent | undefined): number {
  const [, seconds = '', fraction = ''] = /^(.*?)(\.\d+)?Z$/.exec(event?.eventTime ?? '') ?? [];
  return Date.parse(`${seconds}Z`) + Number(fraction) * 1_000;
}

/** Prints the medians of the gaps that all releases have in common, usually all gaps. */
function report(releases: readonly (readonly Gap[])[]): void {
  const [first = []] = releases;
  const alike = releases.filter(
    (gaps) => gaps.map(({ name }) => name).join() === first.map(({ name }) => name).join(),
  );
  const gaps = first.map(({ name }, index) => ({
    name,
    ...summarize(alike.map((release) => release[index]?.ms ?? NaN)),
  }));
  const total = summarize(alike.map((release) => release.reduce((sum, { ms }) => sum + ms, 0)));
  const shown = gaps.filter(({ medianMs }) => medianMs >= 0.5);
  const rows = [
    ['gap', 'median', 'p95'],
    ...[...shown, { name: 'all', ...total }].map(({ name, medianMs, p95Ms }) => [
      name,
      `${medianMs.toFixed(1)} ms`,
      `${p95Ms.toFixed(1)} ms`,
    ]),
  ];
  say(`\n${table(rows)}\n\n${alike.length} of ${releases.length} releases have the same events.\n`);
  sayResult('gaps', { count: alike.length, total, gaps });
}
