import { describe, expect, it } from 'vitest';

import { INTERVENTION_KINDS, type InterventionKind } from '../../src/domain/intervention/intervention.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import { notTaken } from './faults.ts';
import type { Harness } from './harness.ts';
import { polling, waitingFor } from './moments.ts';
import { identity } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';

const WAYS = ['update', 'signal'] as const;
type Channel = (typeof WAYS)[number];

const BO = { who: 'bo', from: 'desk 7', reason: 'a reason' };

/** A release at some moment of its life. */
interface At {
  readonly target: TargetUnderTest;
  readonly releaseId: string;
}

/** A moment of a release: how to reach it, and which messages it refuses and why. It accepts all others. */
interface Moment {
  readonly reach: (harness: Harness) => Promise<At>;
  readonly refuses: Partial<Record<InterventionKind, string>>;
}

const NO_APPROVAL = 'the release does not wait for approval';
const NO_DECISION = 'no step of the release waits for a decision';
const NOT_PAUSED = 'the release is not paused';
const allRefused = (why: string): Moment['refuses'] =>
  Object.fromEntries(INTERVENTION_KINDS.map((kind) => [kind, why]));

const MOMENTS: Readonly<Record<string, Moment>> = {
  'while it polls': {
    reach: pollingRelease,
    refuses: { resume: NOT_PAUSED, approve: NO_APPROVAL, reject: NO_APPROVAL, retry: NO_DECISION },
  },
  'while it is paused': {
    reach: async (harness) => {
      const at = await pollingRelease(harness);
      await at.target.say(at.releaseId, 'pause', { who: 'cy' });
      return at;
    },
    refuses: {
      pause: 'the release is paused already',
      approve: NO_APPROVAL,
      reject: NO_APPROVAL,
      retry: NO_DECISION,
    },
  },
  'while it waits for approval': {
    reach: async (harness) => {
      const { target } = harness.newServingTarget();
      const releaseId = await waitingFor('approval', target, 'b', {
        approval: { required: 2, withinMs: 3_600_000 },
      });
      return { target, releaseId };
    },
    refuses: { resume: NOT_PAUSED, retry: NO_DECISION },
  },
  'while it waits for a decision': {
    reach: async (harness) => {
      const { target } = harness.newServingTarget();
      target.world.next('uploadArtifact', notTaken(), notTaken(), notTaken());
      const releaseId = await waitingFor('decision', target, 'b', {
        onError: { then: 'wait', waitMs: 60_000 },
      });
      return { target, releaseId };
    },
    refuses: { resume: NOT_PAUSED, approve: NO_APPROVAL, reject: NO_APPROVAL },
  },
  'while it puts back what served': {
    reach: async (harness) => {
      const { target } = harness.newServingTarget();
      target.world.bad.add(identity('b'));
      target.world.gate('redeployRevision');
      const { releaseId } = await target.submit('b');
      await target.world.called('redeployRevision');
      return { target, releaseId };
    },
    refuses: allRefused(
      'the release is ending already; any change it made is undone, which is never stopped halfway',
    ),
  },
  'while a rollback runs': {
    reach: async (harness) => {
      const [target, good] = await harness.newReleasedTarget('x', 'b');
      target.world.gate('redeployRevision');
      await target.rollback({ ...BO, to: good });
      await target.world.called('redeployRevision');
      const { running } = await target.view();
      return { target, releaseId: running?.releaseId ?? '' };
    },
    refuses: allRefused('a rollback is never stopped or held up halfway'),
  },
};

describeWorkflows('a message to a release or a rollback', (harness) => {
  it.each(Object.entries(MOMENTS))(
    '%s: at the wrong moment, or of an unknown name, it is rejected, or recorded, with the reason',
    async (_moment, { reach, refuses }) => {
      const { target, releaseId } = await reach(harness);
      const before = (await target.progressOnce(releaseId, () => true)).interventions.length;
      const refused = Object.entries(refuses) as [InterventionKind, string][];
      await Promise.all(
        refused.map(([kind, why]) =>
          expect(target.say(releaseId, kind, BO)).rejects.toMatchObject({
            cause: { type: 'SLIPWAY_WRONG_MOMENT', message: why },
          }),
        ),
      );
      await Promise.all(refused.map(([kind]) => target.child(releaseId).signal(kind, BO)));
      const { interventions } = await target.progressOnce(
        releaseId,
        (progress) => progress.interventions.length === before + refused.length,
      );
      const recorded = interventions
        .slice(before)
        .map(({ kind, by, taken, note }) => [kind, by, taken, note]);
      expect(new Set(recorded.map((row) => JSON.stringify(row)))).toEqual(
        new Set(refused.map(([kind, why]) => JSON.stringify([kind, BO, false, why]))),
      );
      await target.child(releaseId).signal('aprove', BO);
      await endNow(target, releaseId);
      const { interventions: all } = await target.result(releaseId);
      expect(all.filter(({ kind }) => kind === 'unknown')).toMatchObject([
        { taken: false, note: 'aprove: there is no message of this name' },
      ]);
    },
  );

  it.each(
    INTERVENTION_KINDS.map((kind, index) => {
      const [moment, { reach }] = Object.entries(MOMENTS).find(([, { refuses }]) => !(kind in refuses))!;
      return [kind, WAYS[index % 2] ?? 'update', moment, reach] as const;
    }),
  )('"%s" by %s %s is accepted once if repeated, and its sender is recorded', async (...row) => {
    const [kind, way, , reach] = row;
    const { target, releaseId } = await reach(harness);
    const said = { ...BO, requestId: 'once', ...(kind === 'skip' ? { what: 'greets' } : {}) };
    await say({ target, releaseId }, kind, said, way);
    // The same message over the other channel, or repeated, has no further effect, even if the moment has passed.
    await Promise.allSettled([
      say({ target, releaseId }, kind, said, 'update'),
      say({ target, releaseId }, kind, said, 'signal'),
    ]);
    await endNow(target, releaseId);
    const { interventions } = await target.result(releaseId);
    const { who, from, reason } = BO;
    expect(interventions.filter(({ id }) => id === 'once')).toMatchObject([
      { kind, taken: true, by: { who, from, reason }, at: expect.stringMatching(/^\d{4}-/) as string },
    ]);
  });

  it('on an idle target every message to a release is recorded as sent to none', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    for (const kind of INTERVENTION_KINDS) await target.signal(kind, BO);
    const { state } = await target.viewOnce(
      (view) => view.state.ignored.length === INTERVENTION_KINDS.length,
    );
    expect(state.ignored.map(({ message, reason }) => [message, reason])).toEqual(
      INTERVENTION_KINDS.map((kind) => [kind, 'no release runs']),
    );
  });
});

/** A message to the target, and the reason to refuse it, or `null` if it is accepted. */
type TargetWord = readonly [word: string, message: Record<string, unknown>, refusal: string | null];

const ARTIFACT = identity('b');
const TARGET_MOMENTS: Readonly<Record<string, readonly [reach: Moment['reach'], words: TargetWord[]]>> = {
  'that has never taken a release': [
    async (harness) => {
      const target = harness.newTarget();
      await target.startOnly();
      return { target, releaseId: '' };
    },
    [
      ['rollback', {}, 'this target has never taken a release'],
      ['unhold', {}, 'the target is not on hold'],
      [
        'quarantine',
        { artifact: 'nothing' },
        'the target knows no artifact "nothing", and no revision or release of this target is called "nothing"; the target knows no verified revision',
      ],
      ['unquarantine', { artifact: ARTIFACT }, `${ARTIFACT} is not in quarantine`],
      ['withdraw', {}, 'no release waits'],
      ['hold', {}, null],
      ['quarantine', { artifact: ARTIFACT }, null],
      ['unhold', {}, null],
      ['unquarantine', { artifact: ARTIFACT }, null],
    ],
  ],
  'while a release runs and another waits': [
    async (harness) => {
      const { target, releaseId } = await pollingRelease(harness);
      await target.submit('c');
      return { target, releaseId };
    },
    [
      ['unhold', {}, 'the target is not on hold'],
      ['withdraw', { release: 'release-9' }, 'no release "release-9" waits'],
      ['withdraw', {}, null],
      ['quarantine', { artifact: ARTIFACT }, null],
      ['hold', {}, null],
      ['rollback', {}, null],
    ],
  ],
  'on hold after a rollback': [
    async (harness) => {
      const [target, good] = await harness.newReleasedTarget('x', 'b');
      await target.rollback({ ...BO, to: good });
      await target.viewOnce(({ state, running }) => running === null && state.history.length === 3);
      return { target, releaseId: '' };
    },
    [
      // A person's hold replaces the rollback's own. A second hold changes nothing.
      ['hold', {}, null],
      ['hold', {}, 'the target is on hold already'],
      ['unhold', {}, null],
      ['rollback', {}, null],
    ],
  ],
  'while a rollback runs': [
    MOMENTS['while a rollback runs']!.reach,
    [
      ['hold', {}, null],
      ['hold', {}, 'the target is on hold already'],
      ['withdraw', {}, 'no release waits'],
      ['quarantine', { artifact: ARTIFACT }, null],
      ['unhold', {}, null],
    ],
  ],
};

describeWorkflows('a message to a target', (harness) => {
  describe.each(WAYS)('by %s', (way) => {
    it.each(Object.entries(TARGET_MOMENTS))(
      '%s is accepted and recorded with its sender, or rejected with the moment as the reason',
      async (_moment, [reach, words]) => {
        const { target } = await reach(harness);
        const { state: before } = await target.view();
        for (const [word, message, refusal] of words)
          await sayToTarget(target, word, { ...BO, ...message }, way, refusal);
        const taken = words.filter(([, , refusal]) => refusal === null);
        const { state } = await target.viewOnce(
          (view) => view.state.said.length >= before.said.length + taken.length,
        );
        expect(state.said.slice(before.said.length).map(({ message, by }) => [message, by])).toEqual(
          taken.map(([word]) => [word, BO]),
        );
        if (way === 'signal') {
          expect(state.ignored.map(({ message, reason }) => [message, reason])).toEqual(
            words.filter(([, , refusal]) => refusal !== null).map(([word, , refusal]) => [word, refusal]),
          );
        }
      },
    );
  });
});

/** Sends a message to a target. An update without effect is refused, or answered with the present state. */
async function sayToTarget(
  target: TargetUnderTest,
  word: string,
  message: Record<string, unknown>,
  way: Channel,
  refusal: string | null,
): Promise<void> {
  if (way === 'signal') return target.signal(word, message);
  const answered = target.handle.executeUpdate<unknown, [unknown]>(word, { args: [message] });
  if (refusal === null || SAYS_WHAT_IS.has(refusal.replace(ARTIFACT, ''))) {
    await answered;
    return;
  }
  const told = await answered.then(
    (answer) => (answer as { readonly reason?: string }).reason,
    (error: unknown) => (error as { readonly cause?: { readonly message?: string } }).cause?.message,
  );
  expect(told).toBe(refusal);
}

/** A message that requests the present state is not refused. */
const SAYS_WHAT_IS: ReadonlySet<string> = new Set([
  'the target is not on hold',
  'the target is on hold already',
  ' is not in quarantine',
]);

async function pollingRelease(harness: Harness): Promise<At> {
  const { target } = harness.newServingTarget();
  return { target, releaseId: await polling(target) };
}

async function say(
  { target, releaseId }: At,
  kind: InterventionKind,
  message: object,
  way: Channel,
): Promise<void> {
  if (way === 'update') await target.say(releaseId, kind, message);
  else await target.child(releaseId).signal(kind, message);
}

async function endNow(target: TargetUnderTest, releaseId: string): Promise<void> {
  target.world.close();
  target.world.slow.clear();
  // Refused if the release has ended, or restores a revision.
  await Promise.allSettled([target.say(releaseId, 'abort', { who: 'dee' })]);
  await target.ended(releaseId);
}
