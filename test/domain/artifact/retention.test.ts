import { describe, expect, it } from 'vitest';

import {
  type ArtifactUse,
  decideRetention,
  type HeldArtifact,
  parseRetentionAge,
  type RecordedRelease,
  targetUses,
  unaskedUses,
} from '../../../src/domain/artifact/retention.ts';
import { request, seasoned } from '../target/targets.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-06-01T00:00:00.000Z');
const POLICY = { keep: 2, olderThanMs: 30 * DAY_MS };

function digest(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

function ago(days: number): string {
  return new Date(NOW - days * DAY_MS).toISOString();
}

function held(letter: string, days: number): HeldArtifact {
  return { digest: digest(letter), sizeBytes: 10, putAt: ago(days) };
}

function released(letter: string, days: number, change: Partial<RecordedRelease> = {}): RecordedRelease {
  const artifact = digest(letter).slice(0, 19);
  const releaseId = `release-${letter}`;
  return {
    target: 'staging',
    targetId: `target:http://one:${change.target ?? 'staging'}`,
    releaseId,
    artifact,
    datasets: [],
    released: true,
    endedAt: ago(days),
    ...change,
  };
}

/** Why each is retained, by its letter; an empty list: it is deleted. */
function decide(
  artifacts: readonly HeldArtifact[],
  uses: readonly ArtifactUse[] = [],
  releases: readonly RecordedRelease[] = [],
): Record<string, readonly string[]> {
  const decided: Record<string, readonly string[]> = {};
  for (const { artifact, kept } of decideRetention(artifacts, uses, releases, POLICY, NOW)) {
    decided[artifact.digest.charAt(7)] = kept;
  }
  return decided;
}

describe('an artifact', () => {
  it('without a reference is removed when it is old enough', () => {
    expect(decide([held('a', 29), held('b', 31)])).toEqual({ a: ['put within 30d'], b: [] });
  });

  it('with references is kept at any age, with every reason once', () => {
    const why = 'verified on staging';
    const waits = 'release-7 waits on production';
    const uses = [why, why, waits].map((reason) => ({ artifact: digest('a'), why: reason }));
    expect(decide([held('a', 900), held('b', 900)], uses)).toEqual({ a: [why, waits], b: [] });
  });

  it('among the last released on a target is kept, for each target separately, even if released often', () => {
    const releases = [
      ...['a', 'b', 'c'].map((letter, index) => released(letter, 100 - index)),
      released('c', 90),
      released('d', 200, { target: 'production' }),
    ];
    const old = ['a', 'b', 'c', 'd'].map((letter) => held(letter, 300));
    const [staging, production] = ['staging', 'production'].map((on) => `among the last 2 released on ${on}`);
    expect(decide(old, [], releases)).toEqual({ a: [], b: [staging], c: [staging], d: [production] });
  });

  it('is kept for each of two targets with the same name', () => {
    const other = (letter: string, days: number) =>
      released(letter, days, { targetId: 'target:http://other:staging' });
    const releases = [released('a', 100), released('b', 90), other('c', 80), other('d', 70)];
    const why = ['among the last 2 released on staging'];
    const old = ['a', 'b', 'c', 'd'].map((letter) => held(letter, 300));
    expect(decide(old, [], releases)).toEqual({ a: why, b: why, c: why, d: why });
  });

  it('that is a dataset is kept as long as the artifact whose checks asked it', () => {
    const asked = (letter: string, days: number, dataset: string) =>
      released(letter, days, { datasets: [digest(dataset)] });
    const releases = [asked('a', 100, 'd'), asked('b', 90, 'e'), asked('c', 80, 'f')];
    const why = 'among the last 2 released on staging';
    expect(
      decide(
        ['d', 'e', 'f'].map((letter) => held(letter, 300)),
        [],
        releases,
      ),
    ).toEqual({ d: [], e: [`a dataset of a check: ${why}`], f: [`a dataset of a check: ${why}`] });
  });

  it('of an unsuccessful release is not among the last released', () => {
    const releases = [released('a', 100), released('b', 50, { released: false }), released('c', 40)];
    const old = ['a', 'b', 'c'].map((letter) => held(letter, 300));
    const kept = { a: ['among the last 2 released on staging'], b: [] };
    expect(decide(old, [], releases)).toMatchObject(kept);
  });

  it('is listed with its newest release, of any outcome', () => {
    const failed = { target: 'production', releaseId: 'release-9', released: false };
    const releases = [released('a', 100), released('a', 50, failed)];
    const old = [held('a', 300), held('b', 300)];
    const [decided, unreleased] = decideRetention(old, [], releases, POLICY, NOW);
    expect(decided?.last).toMatchObject({ releaseId: 'release-9', target: 'production' });
    expect(unreleased?.last).toBeNull();
  });
});

describe('the artifacts that a target needs', () => {
  it('are those that serve, are verified, also in quarantine, and wait', () => {
    const revision = { at: ago(3), verified: true };
    const image = request('image', { artifact: { kind: 'image', uri: 'registry/agent:1' } });
    const state = seasoned({
      activeRevisionId: 'serves',
      known: [
        { ...revision, revisionId: 'earlier', artifact: digest('a') },
        { ...revision, revisionId: 'bad', verified: false, artifact: digest('b') },
        { ...revision, revisionId: 'rolled-back-from', quarantined: true, artifact: digest('c') },
        { ...revision, revisionId: 'made elsewhere' },
        { ...revision, revisionId: 'serves', verified: false, artifact: digest('d') },
      ],
      queue: [
        { releaseId: 'release-8', queuedAt: ago(1), request: request('e'.repeat(64)) },
        { releaseId: 'release-9', queuedAt: ago(1), request: image },
      ],
    });
    expect(targetUses('staging', state)).toEqual([
      { artifact: digest('d'), why: 'serves on staging' },
      { artifact: digest('e'), why: 'release-8 waits on staging' },
      { artifact: digest('a'), why: 'verified on staging' },
      { artifact: digest('c'), why: 'verified on staging' },
    ]);
  });

  it('are all that it ever released if it cannot be queried, though another one of its name can', () => {
    const gone = { targetId: 'target:http://gone:staging', released: false };
    const releases = [released('a', 400), released('b', 300, gone)];
    expect(unaskedUses(releases, new Set(['target:http://one:staging']))).toEqual([
      { artifact: digest('b').slice(0, 19), why: 'released on staging, which could not be asked' },
    ]);
  });
});

describe('the age of removable artifacts', () => {
  it.each([
    ['1h', 3_600_000],
    ['400d', 400 * DAY_MS],
    ['59m', undefined],
    ['0', undefined],
    ['soon', undefined],
  ])('%j is %s ms', (text, milliseconds) => {
    expect(parseRetentionAge(text)).toBe(milliseconds);
  });
});
