import { readSecretReference } from '@slipway/contract/secretReference';
import { compileRetryPolicy } from '@temporalio/common';
import fc from 'fast-check';
import { expect, it } from 'vitest';

import { artifactIdentity, describeArtifact } from '../../../src/domain/artifact/artifact.ts';
import { storeUrlProblem } from '../../../src/domain/artifact/storeUrl.ts';
import { jsonBytes } from '../../../src/domain/bounds.ts';
import { ANSWER_CHECKS } from '../../../src/config/answerSchema.ts';
import { judge } from '../../../src/domain/check/judge.ts';
import { patchedFields } from '../../../src/domain/deployment/patchedFields.ts';
import { formatDuration } from '../../../src/domain/duration.ts';
import { freezeSpans } from '../../../src/domain/freeze/freeze.ts';
import { receiversOf } from '../../../src/domain/notify/notice.ts';
import { noticesBetween, startNotice, waitingNotice } from '../../../src/domain/notify/noticeContent.ts';
import { redeployCommand, restoreInstructions } from '../../../src/domain/release/instructions.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { releaseRequestProblem } from '../../../src/domain/release/requestProblem.ts';
import { STEP_NAMES } from '../../../src/domain/step.ts';
import { patiently, stepPolicy } from '../../../src/domain/stepTable.ts';
import { describeTarget } from '../../../src/domain/story.ts';
import { setHold, submitRelease, takeNext } from '../../../src/domain/target/targetQueue.ts';
import { normalizeServiceUrl, targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW } from '../target/targets.ts';
import {
  FULL_REQUEST,
  hasPart,
  HOSTILE_VALUES,
  nested,
  type Path,
  pathsOf,
  withPart,
} from './hostileRequests.ts';

/** Of the steps, which are alike, the first. */
const [STEP] = STEP_NAMES;
const PATHS = pathsOf(FULL_REQUEST).filter(([field, step = STEP]) => field !== 'steps' || step === STEP);
const TOO_DEEP_FOR_JSON = nested(50_000);
const LONGEST_WAIT_MS = 30 * 86_400_000;

it('a request with every field is accepted, and every function accepts it', () => {
  expect(releaseRequestProblem(FULL_REQUEST)).toBeUndefined();
  useAll(FULL_REQUEST);
});

it.each(PATHS.map((path) => [path.join('.'), path] as const))(
  'with any value at "%s", a request is rejected or every function accepts it',
  (_, path) => {
    for (const value of [...HOSTILE_VALUES, TOO_DEEP_FOR_JSON]) refusedOrUsable(path, value);
  },
);

it('with any values at several places, a request is rejected or every function accepts it', () => {
  const change = fc.tuple(
    fc.constantFrom(...PATHS),
    fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.jsonValue(), fc.string({ unit: 'binary' })),
  );
  const holds = fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
    const hostile = changes.reduce<unknown>(
      (request, [path, value]) => (hasPart(request, path) ? withPart(request, path, value) : request),
      FULL_REQUEST,
    );
    if (releaseRequestProblem(hostile) === undefined) useAll(hostile as ReleaseRequest);
  });
  fc.assert(holds, { numRuns: 500 });
});

it.each(['', 'target', 'checks.0', 'steps', 'steps.patch', 'steps.patch.retry', 'requestedBy', 'notify.0'])(
  'a field of a newer command is ignored in "%s"',
  (path) => {
    const at = path === '' ? [] : path.split('.');
    expect(
      releaseRequestProblem(withPart(FULL_REQUEST, [...at, 'newField'], { any: 'thing' })),
    ).toBeUndefined();
  },
);

function refusedOrUsable(path: Path, value: unknown): void {
  const hostile = withPart(FULL_REQUEST, path, value);
  if (releaseRequestProblem(hostile) === undefined) useAll(hostile as ReleaseRequest);
}

/** Calls all pure functions that a target and a release apply to a request. */
function useAll(request: ReleaseRequest): void {
  const { target, artifact, steps, checks, soakMs, onError, approval, pauseMs, requestedBy } = request;
  targetWorkflowId(target);
  const { state } = submitRelease(EMPTY_TARGET, null, request, NOW);
  noticesBetween(EMPTY_TARGET, state);
  noticesBetween(state, setHold(state, ADA, NOW));
  describeTarget(setHold(state, requestedBy, NOW), null);
  const next = takeNext(state);
  if (next !== undefined) startNotice(target, next.work);
  for (const text of [artifactIdentity(artifact), request.commit ?? '', request.ref ?? ''])
    text.slice(0, 255);
  for (const deploymentId of [null, 'a deployment']) {
    const predicament = {
      target,
      deploymentId,
      baseline: null,
      known: [],
      reason: 'a reason',
      attempted: [],
    };
    restoreInstructions({ ...predicament, code: null });
    restoreInstructions({ ...predicament, code: 'SLIPWAY_UNAUTHORIZED' });
  }
  redeployCommand(target, 'deployment', 'revision');
  patchedFields({ ...request, objectPath: 'path' });
  for (const name of STEP_NAMES) {
    for (const overrides of [steps, patiently(steps)]) {
      const { retry, startToCloseMs, scheduleToCloseMs, heartbeatMs = 1 } = stepPolicy(name, overrides);
      const { maximumAttempts, initialIntervalMs, maximumIntervalMs, backoffCoefficient } = retry;
      compileRetryPolicy({
        initialInterval: initialIntervalMs,
        maximumInterval: maximumIntervalMs,
        backoffCoefficient,
        ...(maximumAttempts === 0 ? {} : { maximumAttempts }),
      });
      expect(Math.min(startToCloseMs, scheduleToCloseMs, heartbeatMs)).toBeGreaterThan(0);
    }
  }
  for (const { name, assistant, expect: expected, input, timeoutMs, feedbackKey = '' } of checks) {
    judge(
      expected,
      { status: 'success', values: { messages: [{ content: 'hello' }] }, latencyMs: 1 },
      ANSWER_CHECKS,
    );
    expect([name.trim(), assistant.trim(), feedbackKey.trim(), typeof input]).toBeDefined();
    if (expected.matches !== undefined) new RegExp(expected.matches, 'u');
    expect(timeoutMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
  }
  for (const waitMs of [soakMs, onError?.waitMs ?? 0, approval?.withinMs ?? 1, pauseMs ?? 1]) {
    new Date(Date.now() + waitMs).toISOString();
    formatDuration(waitMs);
    expect(waitMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
  }
  const waiting = { for: 'approval', since: NOW, until: NOW, note: 'a note' } as const;
  const artifactName = describeArtifact(artifact);
  waitingNotice(
    { kind: 'release', name: 'release-1', target, artifact: artifactName, commit: null, requestedBy },
    waiting,
  );
  for (const { name, events } of receiversOf(request.notify ?? [], 'released')) {
    expect([name.trim(), events?.join()]).toBeDefined();
  }
  for (const freeze of request.freezes ?? []) freezeSpans({ ...freeze, timeZone: 'UTC' }, 0, 86_400_000);
  expect(approval === undefined || approval.required <= (approval.approvers?.length ?? Infinity)).toBe(true);
  const references = [target.apiKey, target.agentApiKey ?? target.apiKey, ...(target.secrets ?? [])];
  for (const { from } of references) expect(readSecretReference(from)).toBeDefined();
  normalizeServiceUrl(target.agentUrl ?? target.controlPlane);
  expect(storeUrlProblem(request.recordStore)).toBeUndefined();
  if (artifact.kind === 'tarball') expect(artifact.digest).toMatch(/^sha256:[0-9a-f]{64}$/u);
  // Records are written under the target's name.
  expect(target.name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u);
  expect(jsonBytes(request)).toBeLessThanOrEqual(200_000);
}
