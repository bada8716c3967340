import { expect, it, vi } from 'vitest';

import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import {
  FULL_REQUEST,
  HOSTILE_VALUES,
  type Path,
  pathsOf,
  withPart,
} from '../../domain/release/hostileRequests.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { KNOWN_NAMES } from '../garbage.ts';
import { endAll } from '../moments.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/** The fields of a request with the most parts, and all others. */
const PARTS: readonly string[] = ['target', 'checks', 'other fields'];
const MINUTES_MS = 240_000;

/** A valid request to a target with every field. All steps are alike. */
function fullRequest(target: TargetUnderTest): ReleaseRequest {
  const { name, controlPlane, apiKey, deployment, source } = target.request('b').target;
  return {
    ...FULL_REQUEST,
    target: { ...FULL_REQUEST.target, name, controlPlane, apiKey, deployment, source },
    steps: { patch: FULL_REQUEST.steps['patch'] ?? {}, record: target.request('b').steps.record ?? {} },
    notify: FULL_REQUEST.notify.slice(0, 1),
    recordStore: target.request('b').recordStore,
  };
}

describeWorkflows('a target with hostile messages', (harness) => {
  it.each(PARTS)(
    'takes the next release after each hostile update about its %s',
    async (part) => {
      const { target } = harness.newServingTarget();
      await target.startOnly();
      const base = fullRequest(target);
      const isOf = ([field]: Path): boolean =>
        part === 'other fields' ? !PARTS.slice(0, -1).includes(field ?? '') : field === part;
      for (const path of pathsOf(base).filter(isOf)) {
        // One at a time, so that each accepted one begins.
        for (const value of [null, 7, 'x\ud800']) {
          await sendAndEnd(target, withPart(base, path, value));
        }
      }
      expect(await target.release('z', { overrideHold: true })).toMatchObject({ outcome: 'released' });
    },
    MINUTES_MS,
  );

  it(
    'takes the next release after each hostile signal, with any name',
    async () => {
      const { target } = harness.newServingTarget();
      await target.release('b');
      for (const name of KNOWN_NAMES) {
        await Promise.all(
          HOSTILE_VALUES.flatMap((value) =>
            [value, { to: value, artifact: value, what: value, requestedBy: value }].map((payload) =>
              target.signal(name, payload),
            ),
          ),
        );
      }
      await vi.waitFor(async () => expect(await looksAround(target)).toBe(false), { timeout: MINUTES_MS });
      await endAll(target);
      expect(await target.release('z', { overrideHold: true })).toMatchObject({ outcome: 'released' });
    },
    MINUTES_MS,
  );
});

/** Sends a request, and stops its release if it was accepted. */
async function sendAndEnd(target: TargetUnderTest, request: unknown): Promise<void> {
  const sent = target.handle.executeUpdate<unknown, [unknown]>('submitRelease', { args: [request] });
  const [{ status }] = await Promise.allSettled([sent]);
  if (status === 'fulfilled') await endAll(target);
}

/** Whether the target has unread messages, or looks for some: a rollback that no query shows yet. */
async function looksAround(target: TargetUnderTest): Promise<boolean> {
  const { raw } = await target.handle.describe();
  const looks = raw.pendingActivities?.filter(
    ({ activityType }) => activityType?.name !== 'awaitLateSuccess',
  );
  return raw.pendingWorkflowTask != null || (looks ?? []).length > 0;
}
