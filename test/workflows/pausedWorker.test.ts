import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';

import type { Harness } from './harness.ts';
import { openOwnHarness } from './projectHarness.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import { useFolder } from '../support/temporaryFolder.ts';

/** Longer than the SDK lets workflow code run, but shorter than a workflow task's timeout. */
const PAUSE_MS = 6_000;
/** Blocks the worker's thread after a target has taken a hold, before the code that awaits the hold continues. */
const PAUSE = `
  if (input.activation.jobs?.some((job) => job.signalWorkflow?.signalName === 'hold'))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${PAUSE_MS});`;

const folder = useFolder();
let harness: Harness;

beforeAll(async () => {
  const code = await readFile(inject('workflowBundle'), 'utf8');
  const pausing = code.replace(/QUERY_TOO_EARLY\);\s*\}\s*next\(input\);/, `$&${PAUSE}`);
  expect(pausing).not.toBe(code);
  const workflowBundle = join(folder, 'pausing.js');
  await writeFile(workflowBundle, pausing);
  ({ harness } = await openOwnHarness({ workflowBundle }));
});

afterAll(() => harness.close());

async function doneIn(target: TargetUnderTest): Promise<readonly unknown[]> {
  const { events } = await target.handle.fetchHistory();
  return (events ?? [])
    .flatMap((event) => [
      event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
      event.workflowTaskFailedEventAttributes?.failure?.message ?? [],
    ])
    .flat();
}

it('a worker that is frozen in the middle of workflow code continues, and no workflow gets another’s data', async () => {
  const { target: held } = harness.newServingTarget();
  const { target: other } = harness.newServingTarget();
  for (const target of [held, other]) {
    await target.release('a');
    await target.idle();
  }
  const [ofHeld = [], ofOther] = await Promise.all([held, other].map(doneIn));
  await held.signal('hold', { reason: 'bad' });
  await other.signal('nothing');
  await held.viewOnce(({ state }) => state.hold !== null);
  await other.viewOnce(({ state }) => state.ignored.length > 0);
  const keeps = async (): Promise<void> => expect(await doneIn(held)).toEqual([...ofHeld, 'keepTarget']);
  await vi.waitFor(keeps, { timeout: 60_000 });
  expect(await doneIn(other)).toEqual(ofOther);
});
