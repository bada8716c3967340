import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { JudgementInput } from '../../../src/activities/activities.ts';
import { digestFile } from '../../../src/artifact/digest.ts';
import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { DEFAULT_POLICY, DEFAULT_SETTINGS } from '../../../src/domain/judge/settings.ts';
import { json, type SeenRequest } from '../../clients/faultyService.ts';
import { type Behavior, startFakeAgent } from '../../judge/fakeAgent.ts';
import {
  activitiesUnderTest,
  API_KEY,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_ID,
  revisionOn,
} from '../activitiesUnderTest.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';

const INPUTS = 20;

/** An agent, and its control plane, which reports the active revision. */
function startSide(active: () => string = () => REVISION_ID, behavior: Behavior = {}) {
  return startFakeAgent({
    ...behavior,
    instead: (request, response, run) => {
      if (behavior.instead?.(request, response, run) === true) return true;
      if (!request.url.startsWith('/v2/deployments/')) return false;
      json(response, 200, deploymentAnswer({ active_revision_id: active() }));
      return true;
    },
  });
}

type Served = Awaited<ReturnType<typeof startSide>>;

async function judgementOf(baseline: Served, candidate: Served): Promise<JudgementInput> {
  const folder = await temporaryFolder();
  const file = join(folder, 'inputs.jsonl');
  const lines = Array.from({ length: INPUTS }, (_, number) => JSON.stringify({ input: { number } }));
  await writeFile(file, lines.join('\n'));
  const store = openArtifactStore(join(folder, 'store'));
  const digest = await digestFile(file);
  await store.put(file, digest);
  return {
    judgementId: 'promotion-1',
    store: store.url,
    inputs: { digest, name: 'inputs.jsonl' },
    settings: {
      ...DEFAULT_SETTINGS,
      assistant: 'agent',
      seed: 7,
      policy: DEFAULT_POLICY,
      repetitions: 3,
      warmUpRuns: 0,
      concurrency: 1,
      patienceMs: 0,
    },
    sides: {
      baseline: { ...revisionOn(baseline.url), agentUrl: baseline.url },
      candidate: { ...revisionOn(candidate.url), agentUrl: candidate.url },
    },
  };
}

const RUNS = INPUTS * 3;

describe('judging a candidate', () => {
  it('returns a report, and keeps the report and the runs in the store', async () => {
    const [baseline, candidate] = await Promise.all([startSide(), startSide()]);
    const input = await judgementOf(baseline, candidate);
    const { report, location } = await activitiesUnderTest().judgeCandidate(input);
    expect(report.sides).toMatchObject({ baseline: { runs: RUNS }, candidate: { runs: RUNS } });
    expect(report.inputs).toEqual({ from: 'inputs.jsonl', count: INPUTS, repetitions: 3 });
    const store = openArtifactStore(input.store);
    expect(await store.getRecord(location)).toEqual(report);
    const kept = await store.listRecords('judgements/promotion-1/trials/');
    const trials = await Promise.all(kept.map((name) => store.getRecord(name)));
    expect(trials.flat()).toHaveLength(2 * RUNS);
  });

  it('keeps no secret of the target that an agent repeats', async () => {
    const repeats = { answers: () => `I run with ${API_KEY}` };
    const [baseline, candidate] = await Promise.all([startSide(), startSide(undefined, repeats)]);
    const input = await judgementOf(baseline, candidate);
    const settings = { ...input.settings, expect: { contains: 'hello' } };
    const { report, location } = await activitiesUnderTest().judgeCandidate({ ...input, settings });
    expect(report.sides.candidate.failures[0]?.reason).toContain('I run with [removed]');
    expect(await openArtifactStore(input.store).getRecord(location)).toEqual(report);
  });

  it('continues with the runs of the previous attempt, with the same inputs', async () => {
    let dies = false;
    const attempts = [new AbortController()];
    const [baseline, candidate] = await Promise.all([
      startSide(),
      startSide(undefined, {
        instead: (_: SeenRequest, __, run) => {
          if (run === 40 && !dies) {
            dies = true;
            attempts[0]!.abort();
          }
          return false;
        },
      }),
    ]);
    const input = await judgementOf(baseline, candidate);
    const first = activitiesUnderTest();
    attempts[0]!.signal.addEventListener('abort', () => first.environment.cancel());
    await expect(first.judgeCandidate(input)).rejects.toThrow();
    const before = baseline.runs() + candidate.runs();
    expect(before).toBeLessThan(2 * RUNS);
    const { report } = await activitiesUnderTest().judgeCandidate(input);
    expect(report.sides).toMatchObject({ baseline: { runs: RUNS }, candidate: { runs: RUNS } });
    // 75 of about 80 runs were recorded: three batches.
    expect(baseline.runs() + candidate.runs() - before).toBe(2 * RUNS - 75);
  });

  it('is errored if another revision has become active in the meantime', async () => {
    let looks = 0;
    const [baseline, candidate] = await Promise.all([
      startSide(),
      startSide(() => (looks++ === 0 ? REVISION_ID : OTHER_REVISION_ID)),
    ]);
    const { report } = await activitiesUnderTest().judgeCandidate(await judgementOf(baseline, candidate));
    expect(report.verdict).toBe('errored');
    expect(report.error).toMatchObject({ side: 'candidate', code: 'SLIPWAY_NOT_SERVING' });
  });

  it('fails like every activity if the store does not have the inputs', async () => {
    const [baseline, candidate] = await Promise.all([startSide(), startSide()]);
    const input = await judgementOf(baseline, candidate);
    const missing = { digest: `sha256:${'0'.repeat(64)}`, name: 'inputs.jsonl' };
    const failure = await failureOf(activitiesUnderTest().judgeCandidate({ ...input, inputs: missing }));
    expect(failure).toMatchObject({ type: 'SLIPWAY_ARTIFACT_NOT_FOUND', nonRetryable: true });
  });
});
