import { describe, expect, it } from 'vitest';

import type { Actor } from '../../../src/domain/actor.ts';
import {
  countFailedChecks,
  findArtifact,
  findQuarantined,
  isHeldAgainst,
  quarantineArtifact,
  unquarantineArtifact,
} from '../../../src/domain/target/quarantine.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW, result, seasoned, verified } from './targets.ts';

const ONE = `sha256:${'1'.repeat(64)}`;
const ITSELF = { who: 'slipway', from: 'target' };
const UNKNOWN_ID = '0d6f2c1a-1111-4111-8111-111111111111';
const OTHER = `sha256:${'1'.repeat(10)}${'2'.repeat(54)}`;

describe('a quarantine', () => {
  const shipped = seasoned({ known: [{ ...verified('r1'), artifact: ONE }, verified('r2')] });

  it('marks exactly the revisions with the artifact; its end clears them', () => {
    const quarantined = quarantineArtifact(shipped, ONE, ADA, NOW);
    expect(findQuarantined(quarantined, ONE)).toEqual({ artifact: ONE, since: NOW, by: ADA });
    expect(quarantined.known.map((revision) => revision.quarantined)).toEqual([true, undefined]);
    expect(unquarantineArtifact(quarantined, ONE)).toEqual(shipped);
  });

  it('is not the only reason against an artifact: failed checks and a rollback from it are others', () => {
    expect(isHeldAgainst(shipped, ONE)).toBe(false);
    expect(isHeldAgainst(quarantineArtifact(shipped, ONE, ADA, NOW), ONE)).toBe(true);
    const failed = { ...shipped, failedChecks: [{ artifact: ONE, releaseIds: ['release-1'] }] };
    expect(isHeldAgainst(failed, ONE)).toBe(true);
    expect(isHeldAgainst(unquarantineArtifact(failed, ONE), ONE)).toBe(false);
    const left = seasoned({ known: [{ ...verified('r1'), artifact: ONE, quarantined: true }] });
    expect(isHeldAgainst(left, ONE)).toBe(true);
    expect(isHeldAgainst(left, OTHER)).toBe(false);
  });

  it('keeps the first reason', () => {
    const once = quarantineArtifact(shipped, ONE, ADA, NOW);
    expect(quarantineArtifact(once, ONE, { who: 'bo', from: 'cli' }, 'later')).toBe(once);
  });

  it('by a person is never ended by others: of too many, the oldest automatic one ends, and the target says so', () => {
    const put = (state: TargetState, by: Actor, count: number) =>
      Array.from({ length: count }).reduce<TargetState>(
        (rest) => quarantineArtifact(rest, `image:${by.who}-${rest.quarantined.length}`, by, NOW),
        state,
      );
    const full = put(put(put(seasoned(), ADA, 1), ITSELF, 2), ADA, 97);
    const one = quarantineArtifact(full, ONE, ADA, NOW);
    expect(one.quarantined).toHaveLength(100);
    expect(findQuarantined(one, 'image:slipway-1')).toBeUndefined();
    expect(one.said).toMatchObject([{ message: 'unquarantine', note: 'image:slipway-1' }]);
    const two = quarantineArtifact(one, OTHER, ITSELF, NOW);
    expect(findQuarantined(two, 'image:slipway-2')).toBeUndefined();
    const people = quarantineArtifact(two, 'image:last', ADA, NOW);
    expect(findQuarantined(people, OTHER)).toBeUndefined();
    for (const by of [ADA, ITSELF]) expect(quarantineArtifact(people, 'image:more', by, NOW)).toBe(people);
  });

  it('starts automatically with the second release whose checks failed, not before', () => {
    const failed = (releaseId: string) =>
      result(releaseId, { outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED' });
    const once = countFailedChecks(shipped, failed('release-1'), ONE, NOW);
    expect(once.quarantined).toEqual([]);
    const twice = countFailedChecks(once, failed('release-2'), ONE, NOW);
    expect(findQuarantined(twice, ONE)?.by).toMatchObject({
      who: 'slipway',
      reason: 'failed its checks 2 times: release-1, release-2',
    });
  });

  it('does not count checks that failed on the restored revision too', () => {
    const everywhere = result('release-1', { outcome: 'errored', code: 'SLIPWAY_CHECK_FAILED' });
    expect(countFailedChecks(shipped, everywhere, ONE, NOW)).toBe(shipped);
  });

  it('does not begin because of a release after which a verified revision of the same artifact serves', () => {
    const other = (serving: string) =>
      result('release-1', {
        code: 'SLIPWAY_CHECK_FAILED',
        outcome: 'rolled_back',
        servingRevisionId: serving,
      });
    expect(countFailedChecks(shipped, other('r1'), ONE, NOW)).toBe(shipped);
    expect(countFailedChecks(shipped, other('r2'), ONE, NOW)).not.toBe(shipped);
    const unverified = { ...shipped, known: shipped.known.map((each) => ({ ...each, verified: false })) };
    expect(countFailedChecks(unverified, other('r1'), ONE, NOW)).not.toBe(unverified);
  });

  it('does not count checks of a branch or a tag, which may mean something else the next time', () => {
    const failed = { outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED', artifactMayChange: true } as const;
    expect(countFailedChecks(shipped, result('release-1', failed), 'git:main', NOW)).toBe(shipped);
  });

  it('does not count failures unrelated to the artifact', () => {
    for (const code of ['SLIPWAY_UNREACHABLE', 'SLIPWAY_REVISION_FAILED', null] as const) {
      expect(countFailedChecks(shipped, result('release-1', { code }), ONE, NOW)).toBe(shipped);
    }
  });
});

describe('the artifact that a person names', () => {
  const state = seasoned({
    known: [
      { ...verified('r1'), artifact: ONE },
      verified('r2'),
      { ...verified('r3'), artifact: OTHER },
      { ...verified('60c1d2e3-one'), artifact: ONE, release: 'release-4' },
      { ...verified('60c1ffff-other'), artifact: OTHER },
      { ...verified('r4'), artifact: 'image:registry.test/agent:2' },
      { ...verified('r5'), artifact: 'git:main' },
    ],
  });

  it.each([
    [ONE, ONE],
    ['r1', ONE],
    [OTHER.slice(0, 25), OTHER],
    [OTHER.slice('sha256:'.length, 30), OTHER],
    ['image:registry.test/agent:1', 'image:registry.test/agent:1'],
    ['registry.test/agent:2', 'image:registry.test/agent:2'],
    [`registry.test/agent@${ONE}`, `image:registry.test/agent@${ONE}`],
    ['main', 'git:main'],
    ['60c1d2e3', ONE],
    ['release-4', ONE],
  ])('%s is %s', (named, artifact) => {
    expect(findArtifact(state, named)).toEqual({ artifact });
  });

  it.each([
    ['r2', 'was not shipped from here'],
    ['1111111111', 'the beginning of 2 artifacts'],
    ['1111', 'knows no artifact "1111", and no revision or release of this target is called'],
    ['release-7', 'knows no artifact "release-7", and no revision or release of this target is called'],
    ['60c1', 'knows no artifact "60c1", and several revisions begin with'],
    [UNKNOWN_ID, 'knows no artifact and no revision'],
  ])('%s is ambiguous: %s', (named, why) => {
    expect(findArtifact(state, named)).toEqual({
      problem: expect.stringContaining(why) as string,
    });
  });
});
