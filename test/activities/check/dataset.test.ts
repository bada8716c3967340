import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { artifactPath } from '../../../src/artifact/artifactStore.ts';
import { folderStore } from '../../../src/artifact/folderStore.ts';
import type { Check } from '../../../src/domain/check/check.ts';
import type { Evaluator } from '../../../src/domain/check/evaluator.ts';
import type { Dataset, DatasetResults } from '../../../src/domain/check/dataset.ts';
import { type Handler, json, startService } from '../../clients/faultyService.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  OTHER_REVISION_ID,
  REVISION_ID,
} from '../activitiesUnderTest.ts';
import { inputOn, METADATA, runsOf, send, startStack } from './checkedStack.ts';

const ROWS = 40;

const folder = useFolder();
const store = folderStore(join(folder, 'store'));
let digest: string;
beforeAll(async () => {
  const lines = Array.from({ length: ROWS }, (_, n) =>
    JSON.stringify({ id: `row-${n}`, input: { n }, reference: n * n }),
  );
  digest = await put(lines.join('\n'));
});

async function put(text: string): Promise<string> {
  const file = join(folder, 'dataset.jsonl');
  await writeFile(file, text);
  const found = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  await store.put(file, found);
  return found;
}

function checkOver(fields: Partial<Dataset> = {}): Check {
  return {
    name: 'squares',
    assistant: 'squarer',
    input: {},
    expect: { path: 'square', reference: 'equals' },
    timeoutMs: 10_000,
    dataset: { digest, of: ROWS, rows: ROWS, seed: 0, concurrency: 4, ...fields },
  };
}

/** An agent that squares, except for these numbers. `onRun` is called before it answers. */
function squarer(wrong: readonly number[] = [], onRun: (n: number) => 'lost' | undefined = () => undefined) {
  const run: Handler = ({ body }, response) => {
    const { n } = (JSON.parse(body) as { input: { n: number } }).input;
    if (onRun(n) === 'lost') {
      response.destroy();
      return;
    }
    send(response, METADATA, ['values', { square: wrong.includes(n) ? -1 : n * n }]);
    response.end();
  };
  return run;
}

type Stack = Awaited<ReturnType<typeof startStack>>;
const askedBy = (stack: Stack): readonly number[] =>
  runsOf(stack).map((body) => (body as { input: { n: number } }).input.n);

const input = (stack: Stack, check: Check) => ({ ...inputOn(stack, check), store: store.url });

describe('a check over a dataset', () => {
  it('asks each row once, and keeps the result of each', async () => {
    const stack = await startStack(squarer([7]));
    const { verdict } = await activitiesUnderTest({ activityType: 'runCheck' }).runCheck(
      input(stack, checkOver({ passRate: 0.8 })),
    );
    expect(askedBy(stack).toSorted((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, n) => n));
    expect(verdict).toMatchObject({
      passed: true,
      reasons: [],
      dataset: { digest, decision: 'passed', made: ROWS, passed: ROWS - 1, rows: ROWS, of: ROWS },
    });
    const results = (await store.getRecord(verdict.dataset?.results ?? '')) as DatasetResults;
    expect(results.rows).toHaveLength(ROWS);
    expect(results.rows[7]).toMatchObject({ id: 'row-7', line: 8, passed: false, answer: '-1' });
    expect(await store.listRecords('_rows_under_way/')).toEqual([]);
  });

  it('asks the same sample each time', async () => {
    const sample = checkOver({ rows: 10, seed: 3 });
    const [one, other] = [await startStack(squarer()), await startStack(squarer())];
    await activitiesUnderTest().runCheck(input(one, sample));
    await activitiesUnderTest().runCheck(input(other, sample));
    expect(askedBy(one)).toHaveLength(10);
    expect(askedBy(other).toSorted()).toEqual(askedBy(one).toSorted());
  });

  it('fails as soon as failing is certain, with the first rows that failed', async () => {
    const stack = await startStack(squarer(Array.from({ length: ROWS }, (_, n) => n)));
    const { verdict } = await activitiesUnderTest().runCheck(input(stack, checkOver({ passRate: 0.9 })));
    const { made = 0, decision } = verdict.dataset ?? {};
    expect(decision).toBe('failed');
    expect(made).toBeLessThan(ROWS);
    expect(verdict.reasons[0]).toContain(`0 of ${made} rows asked of ${ROWS} passed`);
    expect(verdict.reasons[1]).toContain('row "row-0" (line 1): "square" is "-1" instead of "0"');
  });

  it('that is not enough to tell does not pass, unless it says so or the revision is restored', async () => {
    const run = async (fields: Partial<Dataset>, restoring?: true) => {
      const stack = await startStack(squarer([1, 2]));
      const asked = { ...input(stack, checkOver({ passRate: 0.9, ...fields })), restoring };
      return (await activitiesUnderTest().runCheck(asked)).verdict;
    };
    expect(await run({})).toMatchObject({ passed: false, dataset: { decision: 'undecided' } });
    expect((await run({})).reasons[0]).toContain('not enough to tell');
    expect(await run({ undecided: 'pass' })).toMatchObject({
      passed: true,
      dataset: { decision: 'undecided' },
    });
    expect(await run({}, true)).toMatchObject({ passed: true, dataset: { decision: 'undecided' } });
  });

  it('goes on, in the next attempt, with the rows that have a result', async () => {
    let active = REVISION_ID;
    const workflowExecution = { workflowId: 'target/release-1', runId: 'run-1' };
    const broken = await startStack(
      squarer([], (n) => {
        if (n === 20) active = OTHER_REVISION_ID;
        return undefined;
      }),
      {
        [`GET ${DEPLOYMENT_PATH}`]: ((_, response) =>
          json(response, 200, deploymentAnswer({ active_revision_id: active }))) satisfies Handler,
      },
    );
    const first = activitiesUnderTest({ activityType: 'runCheck', workflowExecution });
    await expect(first.runCheck(input(broken, checkOver()))).rejects.toMatchObject({
      type: 'SLIPWAY_NOT_SERVING',
    });
    const counted = (await store.listRecords('_rows_under_way/')).length;
    expect(counted).toBeGreaterThan(0);
    const stack = await startStack(squarer());
    const next = { activityType: 'runCheck', attempt: 2, workflowExecution };
    const { verdict } = await activitiesUnderTest(next).runCheck(input(stack, checkOver()));
    expect(verdict.dataset).toMatchObject({ decision: 'passed', made: ROWS });
    const twice = askedBy(broken).filter((n) => askedBy(stack).includes(n));
    expect(twice.length).toBeLessThanOrEqual(4);
    expect(new Set([...askedBy(broken), ...askedBy(stack)]).size).toBe(ROWS);
    expect(await store.listRecords('_rows_under_way/')).toEqual([]);

    // An attempt whose completion was lost asks nothing again.
    const silent = await startStack(squarer());
    const third = { activityType: 'runCheck', attempt: 3, workflowExecution };
    const again = await activitiesUnderTest(third).runCheck(input(silent, checkOver()));
    expect(again.verdict.dataset).toMatchObject({ decision: 'passed', made: ROWS });
    expect(askedBy(silent)).toEqual([]);
  });

  it('asks no row again if the workflow begins the check again, and each if it is another check', async () => {
    const workflowExecution = { workflowId: 'target/release-2', runId: 'run-1' };
    const asked = async (activityId: string, begunAt: string): Promise<number> => {
      const stack = await startStack(squarer());
      const activities = activitiesUnderTest({ activityType: 'runCheck', activityId, workflowExecution });
      await activities.runCheck({ ...input(stack, checkOver()), begunAt });
      return askedBy(stack).length;
    };
    expect(await asked('1', '2026-11-21T12:00:00.000Z')).toBe(ROWS);
    expect(await asked('2', '2026-11-21T12:00:00.000Z')).toBe(0);
    expect(await asked('3', '2026-11-21T12:30:00.000Z')).toBe(ROWS);
  });

  it('has each row scored, with its reference: a low score fails the row, and a missing one is counted', async () => {
    const evaluator = await startService(({ body }, response) => {
      const { reference } = JSON.parse(body) as { reference: number };
      if (reference === 9) json(response, 400, { detail: 'out of credit' });
      else json(response, 200, { score: reference === 4 ? 0.1 : 1, comment: 'a square' });
    });
    const scored = { name: 'tone', url: evaluator.url, minScore: 0.8, timeoutMs: 10_000 };
    const asking = (onNoScore: Evaluator['onNoScore']): Check => ({
      ...checkOver({ passRate: 0.8 }),
      evaluators: [{ ...scored, onNoScore }],
    });
    const stack = await startStack(squarer([7]));
    const workflowExecution = { workflowId: 'target/release-2', runId: 'run-1' };
    const activities = activitiesUnderTest({ activityType: 'runCheck', workflowExecution });
    const { verdict } = await activities.runCheck(input(stack, asking('pass')));
    // The wrong row is not scored.
    const references = evaluator.requests.map(
      ({ body }) => (JSON.parse(body) as { reference: number }).reference,
    );
    expect(references).toHaveLength(ROWS - 1);
    expect(references).not.toContain(49);
    expect(verdict.dataset).toMatchObject({
      ...{ made: ROWS, passed: ROWS - 2 },
      unscored: { rows: 1, why: expect.stringContaining('evaluator "tone" gave no score') as string },
    });
    const { rows } = (await store.getRecord(verdict.dataset?.results ?? '')) as DatasetResults;
    expect(rows[2]).toMatchObject({
      passed: false,
      reasons: ['evaluator "tone" scored 0.1, at least 0.8 is needed: a square'],
    });
    expect(rows[3]).toMatchObject({
      passed: true,
      noScore: expect.stringContaining('out of credit') as string,
    });
    expect(rows[4]?.noScore).toBeUndefined();
    await expect(
      activitiesUnderTest().runCheck(input(await startStack(squarer()), asking('fail'))),
    ).rejects.toMatchObject({
      type: 'SLIPWAY_EVALUATOR_FAILED',
    });
  });

  it('asks a row again whose run was lost', async () => {
    let lost = 0;
    const stack = await startStack(squarer([], (n) => (n === 3 && lost++ === 0 ? 'lost' : undefined)));
    const { verdict } = await activitiesUnderTest().runCheck(input(stack, checkOver({ rows: ROWS })));
    expect(verdict).toMatchObject({ passed: true });
    expect(askedBy(stack).filter((n) => n === 3)).toHaveLength(2);
  });

  it('takes its runs from the budget, and is not decided if there are too few', async () => {
    const stack = await startStack(squarer());
    const { spent } = await activitiesUnderTest().runCheck({
      ...input(stack, checkOver({ rows: 10 })),
      budget: { runs: 12 },
    });
    expect(spent).toMatchObject({ runs: 10 });
    await expect(
      activitiesUnderTest().runCheck({ ...input(stack, checkOver()), budget: { runs: 12 } }),
    ).rejects.toMatchObject({
      type: 'SLIPWAY_CHECKS_BUDGET_SPENT',
      nonRetryable: true,
      details: [{ spent: { runs: 12 } }],
    });
    expect(askedBy(stack)).toHaveLength(22);
  });

  it('in a round of a watch is asked as a whole, and keeps no results unless it failed', async () => {
    const round = { activityType: 'watchRevision' };
    const stack = await startStack(squarer());
    const { verdict } = await activitiesUnderTest(round).runCheck(input(stack, checkOver()));
    expect(verdict.dataset?.results).toBeUndefined();
    await activitiesUnderTest(round).runCheck(input(stack, checkOver()));
    expect(askedBy(stack)).toHaveLength(2 * ROWS);
    const worse = await startStack(squarer([1]));
    const before = await store.listRecords('_rows/');
    for (const [passRate, decision] of [
      [0.8, 'passed'],
      [0.97, 'undecided'],
    ] as const) {
      const counts = await activitiesUnderTest(round).runCheck(input(worse, checkOver({ passRate })));
      expect(counts.verdict.dataset).toMatchObject({ decision });
    }
    expect(await store.listRecords('_rows/')).toEqual(before);
    const failed = await activitiesUnderTest(round).runCheck(input(worse, checkOver()));
    expect(await store.getRecord(failed.verdict.dataset?.results ?? '')).toBeDefined();
  });

  it('asks nothing if the store’s copy is damaged, or gone', async () => {
    const damaged = await put(`${JSON.stringify({ input: { n: 1 }, reference: 1 })}\n`);
    const file = join(folder, 'store', ...artifactPath(damaged).split('/'));
    await writeFile(file, JSON.stringify({ input: { n: 2 }, reference: 4 }));
    const stack = await startStack(squarer());
    const corrupt = { type: 'SLIPWAY_ARTIFACT_CORRUPT', nonRetryable: true };
    const asked = input(stack, checkOver({ digest: damaged, of: 1, rows: 1 }));
    await expect(activitiesUnderTest().runCheck(asked)).rejects.toMatchObject(corrupt);
    const find = () => activitiesUnderTest().findDatasets({ store: store.url, digests: [digest, damaged] });
    await expect(find()).rejects.toMatchObject(corrupt);
    await rm(file);
    await expect(find()).rejects.toMatchObject({ type: 'SLIPWAY_ARTIFACT_NOT_FOUND' });
    expect(askedBy(stack)).toEqual([]);
  });
});
