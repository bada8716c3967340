import { randomUUID } from 'node:crypto';

import { expect, inject, it } from 'vitest';

import { openHarness, replayFailures } from '../harness.ts';
import { runSequences } from './sequences.ts';

/** `npm run test:model` runs thousands, others each time; every run of the tests the same few. */
const LONG = process.env['SLIPWAY_MODEL_RUNS'] !== undefined;
const RUNS = Number(process.env['SLIPWAY_MODEL_RUNS'] ?? 8);
/** The same again: `SLIPWAY_MODEL_SEED`, and for one that failed `SLIPWAY_MODEL_PATH`, as they were printed. */
const SEED = Number(process.env['SLIPWAY_MODEL_SEED'] ?? (LONG ? Math.trunc(Math.random() * 2 ** 30) : 1));
const PATH = process.env['SLIPWAY_MODEL_PATH'];
const LANES = 4;
/** A long run keeps no more histories than these to replay: without a cache each task is a replay anyway. */
const HISTORIES_MAX = 2_000;
const PROGRESS_EVERY = 50;
/** So many sequences come by every situation. */
const COMES_BY_ALL = 300;
const DAY_MS = 86_400_000;

const WORKER_MODE = inject('workerMode');
/**
 * Workers that forget: a few workflows are kept by one of two workers; in the project `rebuilt`, none by any. Those that
 * forget everything take three times as long for a sequence: a quarter of the sequences is theirs, and both end together.
 */
const MODE =
  WORKER_MODE.maxCachedWorkflows === 0
    ? { mode: 'by workers that forget everything', first: LANES, runs: 0.25 * RUNS, ...WORKER_MODE }
    : { mode: 'by workers that forget most', first: 0, runs: 0.75 * RUNS, maxCachedWorkflows: 8, workers: 2 };

it(
  'a target does what the model says, whatever happens to it',
  { timeout: LONG ? DAY_MS : 600_000 },
  async () => {
    const { mode, first, runs, ...workerMode } = MODE;
    // A long run that is cut off can be run again.
    if (LONG) process.stdout.write(`model, ${mode}: seed ${SEED}, ${runs} sequences to run\n`);
    const workflowBundle = inject('workflowBundle');
    const harness = await openHarness({
      address: inject('temporalAddress'),
      workflowBundle,
      taskQueue: `model-${randomUUID()}`,
      nameWorld: () => randomUUID(),
      ...workerMode,
    });
    try {
      const ran = await runSequences(harness, {
        runs,
        // Each lane has a seed of its own; what is run again is run as it was told.
        seed: SEED + (PATH === undefined ? first : 0),
        lanes: LANES,
        historiesMax: HISTORIES_MAX,
        onProgress: (sequences) => {
          // A long run that is cut off has told how much of it went well.
          if (LONG && sequences % PROGRESS_EVERY === 0)
            process.stdout.write(`model, ${mode}: ${sequences} sequences went well\n`);
        },
        ...(PATH === undefined ? {} : { path: PATH }),
      });
      const { sequences, commands, situations, histories } = ran;
      process.stdout.write(
        `model, ${mode}: seed ${SEED}, ${sequences} sequences, ${commands} commands, ${histories.length} histories\n`,
      );
      if (LONG) process.stdout.write(`${situations.lines.join('\n')}\n`);
      if (sequences >= COMES_BY_ALL) expect(situations.missing).toEqual([]);
      expect(await replayFailures(workflowBundle, histories)).toEqual([]);
    } finally {
      await harness.close();
    }
  },
);
