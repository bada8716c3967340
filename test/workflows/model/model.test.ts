import { randomUUID } from 'node:crypto';

import { expect, inject, it } from 'vitest';

import { replayFailures } from '../harness.ts';
import { openOwnHarness } from '../projectHarness.ts';
import { runSequences } from './sequences.ts';

/** `npm run test:model` runs thousands of new sequences. The normal tests always run the same few. */
const LONG = process.env['SLIPWAY_MODEL_RUNS'] !== undefined;
const RUNS = Number(process.env['SLIPWAY_MODEL_RUNS'] ?? 8);
/** Repeats a run: `SLIPWAY_MODEL_SEED`, and after a failure `SLIPWAY_MODEL_PATH`, as printed. */
const SEED = Number(process.env['SLIPWAY_MODEL_SEED'] ?? (LONG ? Math.trunc(Math.random() * 2 ** 30) : 1));
const PATH = process.env['SLIPWAY_MODEL_PATH'];
const LANES = 4;
/** A long run keeps at most this many histories to replay. Without a cache, each task is a replay anyway. */
const HISTORIES_MAX = 2_000;
const PROGRESS_EVERY = 50;
/** This many sequences reach every situation. */
const COMES_BY_ALL = 2_000;
const DAY_MS = 86_400_000;

const WORKER_MODE = inject('workerMode');
/**
 * Workers without a full cache. Normally, one of two workers keeps a few workflows; in the project `rebuilt`, none
 * does. Sequences in `rebuilt` take three times as long, so it runs a quarter of them, and both end at the same time.
 *
 * Core (SDK 1.24) loses the task of a workflow that it evicts from a full cache while a local activity runs. The server
 * repeats the task after its timeout.
 */
const MODE =
  WORKER_MODE.maxCachedWorkflows === 0
    ? { mode: 'by workers that forget everything', first: LANES, runs: 0.25 * RUNS, ...WORKER_MODE }
    : {
        mode: 'by workers that forget most',
        first: 0,
        runs: 0.75 * RUNS,
        maxCachedWorkflows: 8,
        workers: 2,
      };

it(
  'a target behaves like the model under any sequence of events',
  { timeout: LONG ? DAY_MS : 600_000 },
  async () => {
    const { mode, first, runs, ...workerMode } = MODE;
    // Printed first, so that an interrupted long run can be repeated.
    if (LONG) process.stdout.write(`model, ${mode}: seed ${SEED}, ${runs} sequences to run\n`);
    const { harness } = await openOwnHarness({ nameWorld: () => randomUUID(), ...workerMode });
    try {
      const ran = await runSequences(harness, {
        runs,
        // Each lane has its own seed. A repeated failure uses exactly the given seed.
        seed: SEED + (PATH === undefined ? first : 0),
        lanes: LANES,
        historiesMax: HISTORIES_MAX,
        onProgress: (sequences) => {
          // An interrupted long run has then printed how many sequences passed.
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
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
    } finally {
      await harness.close();
    }
  },
);
