// How fast a target answers `status` after 5 releases, and after 5,000. bench/README.md says what is measured and what
// is not.
//
//   npx tsx --conditions=@slipway/source bench/target-history.ts [--count 200]
import { randomUUID } from 'node:crypto';

import { jsonBytes, STATE_MAX_BYTES } from '../src/domain/bounds.ts';
import type { ReleaseRequest } from '../src/domain/release/release.ts';
import { submitRelease, takeNext } from '../src/domain/target/targetQueue.ts';
import { recordResult } from '../src/domain/target/targetResult.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { EMPTY_TARGET, type TargetState } from '../src/domain/target/targetState.ts';
import { viewQuery } from '../src/messages/target.ts';
import { WORKFLOW_TYPES } from '../src/messages/workflowTypes.ts';
import { result } from '../test/domain/target/targets.ts';
import { type Engine, startEngine } from './engine.ts';
import { releaseRequest } from './release.ts';
import { numbersOf, say, sayResult, summarize, type Summary, table } from './statistics.ts';

const BEHIND = [5, 5_000] as const;
/** The first queries open connections and warm up the JIT compiler. */
const WARM_UP = 10;
/** The longer history may take at most 1.5 times as long. */
const AIM_RATIO = 1.5;

const { count } = numbersOf({ count: 200 });

const engine = await startEngine(say);
try {
  const asks = await Promise.all(BEHIND.map((releases) => startTarget(engine, releases)));
  const latencies = asks.map((): number[] => []);
  say(`status of each target, ${count} times in turn, after ${WARM_UP} that do not count`);
  for (let turn = 0; turn < WARM_UP + count; turn++) {
    for (const [index, { ask }] of asks.entries()) {
      const from = performance.now();
      await ask();
      if (turn >= WARM_UP) latencies[index]?.push(performance.now() - from);
    }
  }
  report(
    asks.map(({ releases, bytes }, index) => ({
      releases,
      bytes,
      summary: summarize(latencies[index] ?? []),
    })),
  );
} finally {
  await engine.close();
}

interface Measured {
  readonly releases: number;
  readonly bytes: number;
  readonly summary: Summary;
}

/** Starts a target with the state of the given number of releases. Returns the query that `status` sends. */
async function startTarget({ temporal }: Engine, releases: number) {
  const request = releaseRequest(
    'http://127.0.0.1:1',
    { id: 'deployment', name: `bench-${releases}-${randomUUID()}` },
    { kind: 'tarball', digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 1, store: 'file:///artifacts' },
  );
  const state = lived(request, releases);
  const workflowId = targetWorkflowId(request.target);
  const handle = await temporal.client.workflow.start(WORKFLOW_TYPES.target, {
    workflowId,
    taskQueue: temporal.settings.taskQueue,
    args: [{ state }],
  });
  return {
    releases,
    bytes: jsonBytes(state),
    ask: async (): Promise<void> => {
      const { state: seen } = await handle.query(viewQuery);
      if (seen.nextNumber !== state.nextNumber)
        throw new Error('the target does not carry what it was given');
    },
  };
}

/** The target's state after the given number of consecutive releases. */
function lived(request: ReleaseRequest, releases: number): TargetState {
  let state = EMPTY_TARGET;
  for (let number = 1; number <= releases; number++) {
    const asked = { ...request, requestKey: `sha256:${number}` };
    const next = takeNext(submitRelease(state, null, asked, new Date().toISOString()).state);
    if (next === undefined) throw new Error('the release was not queued');
    state = recordResult(next.state, result(next.work.releaseId, released(asked, number)), 0);
  }
  return state;
}

/** The fields that differ between results, as long as in real ones. */
function released({ requestKey, requestedBy, target }: ReleaseRequest, number: number) {
  const at = new Date().toISOString();
  const revisionId = randomUUID();
  const artifact = `sha256:${String(number).padStart(64, '0')}`;
  return {
    requestKey,
    requestedBy,
    revisionId,
    servingRevisionId: revisionId,
    startedAt: at,
    endedAt: at,
    target: target.name,
    artifact: artifact.slice(0, 19),
    commit: String(number).padStart(40, '0'),
    reason: `revision ${revisionId} is deployed, serves, and passed its checks`,
    knownRevisions: [{ revisionId, verified: true, artifact, at }],
  };
}

function report(measured: readonly Measured[]): void {
  const [few, many] = measured;
  const ratio = (many?.summary.medianMs ?? NaN) / (few?.summary.medianMs ?? NaN);
  const rows = [
    ['status of a target with, behind it,', 'median', 'p95', 'longest', 'its state'],
    ...measured.map(({ releases, bytes, summary: { medianMs, p95Ms, maxMs } }) => [
      `${releases.toLocaleString('en')} releases`,
      ...[medianMs, p95Ms, maxMs].map((milliseconds) => `${milliseconds} ms`),
      `${bytes.toLocaleString('en')} bytes`,
    ]),
  ];
  const within = ratio <= AIM_RATIO && measured.every(({ bytes }) => bytes < STATE_MAX_BYTES);
  say(`\n${table(rows)}\n\n5,000 to 5: ${ratio.toFixed(2)} ×, of which at most ${AIM_RATIO} is aimed at.\n`);
  sayResult('target-history', { aimRatio: AIM_RATIO, ratio, within, results: measured });
}
