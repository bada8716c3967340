import { describe, expect, it } from 'vitest';

import { cutText, fitting, jsonBytes, newest, STATE_MAX_BYTES } from '../../src/domain/bounds.ts';
import { releaseRequestProblem } from '../../src/domain/release/requestProblem.ts';
import { keepAnswer, requestRollback } from '../../src/domain/rollback/targetRollback.ts';
import { quarantineArtifact } from '../../src/domain/target/quarantine.ts';
import { withdrawSubmission } from '../../src/domain/target/submissions.ts';
import { submitRelease } from '../../src/domain/target/targetQueue.ts';
import { recordResult } from '../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET, ignoreMessage, type TargetState } from '../../src/domain/target/targetState.ts';
import { NOW, request, result } from './target/targets.ts';

/** As long as any text may be, with three bytes per character. */
const LONG = '界'.repeat(1_000);
const LOUD = { who: LONG, from: LONG, reason: LONG };

describe('the size of a value as JSON', () => {
  it.each(['', 'plain', 'ü', '界', '😀', '\n"\\', '\u0000', { a: [1, null, 'ß'] }])('%j', (value) => {
    expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
  });
});

describe('a truncated text', () => {
  it.each([
    ['stays as it is where it fits', 'hello', 5, 'hello'],
    ['is cut to its bytes, with the mark', 'hello, Ada', 8, 'hello…'],
    ['is cut before a character of three bytes', 'aa界界', 7, 'aa…'],
    ['is never cut inside a surrogate pair', 'a😀😀', 8, 'a😀…'],
    ['counts what JSON makes of a character', '\u0001\u0001\u0001', 10, '\u0001…'],
  ])('%s', (_, text, bytes, expected) => {
    expect(cutText(text, bytes)).toBe(expected);
  });
});

describe('a list with a limit', () => {
  const list = ['spare 1', 'keep 1', 'spare 2', 'keep 2', 'spare 3'];
  const canSpare = (item: string): boolean => item.startsWith('spare');
  const room = (items: readonly string[]): number =>
    items.reduce((sum, item) => sum + jsonBytes(item) + 1, 0);
  const upTo = (bytes: number, items = Infinity): readonly string[] =>
    fitting(list, { items, bytes }, canSpare);

  it('stays the same list if it fits', () => {
    expect(upTo(room(list), list.length)).toBe(list);
  });

  it('loses its oldest removable items first, and then its oldest', () => {
    expect(upTo(room(list) - 1)).toEqual(list.slice(1));
    expect(upTo(room(['keep 1', 'keep 2']))).toEqual(['keep 1', 'keep 2']);
    expect(upTo(room(['keep 2']))).toEqual(['keep 2']);
    expect(upTo(Infinity, 4)).toEqual(list.slice(1));
    expect(upTo(Infinity, 1)).toEqual(['keep 2']);
  });
});

describe('a bounded list', () => {
  it('keeps the newest items up to a number', () => {
    expect(newest([1, 2, 3, 4], { items: 2, bytes: 100 })).toEqual([3, 4]);
  });

  it('keeps the newest items up to a size', () => {
    expect(newest(['aaaa', 'bb', 'cc'], { items: 9, bytes: 11 })).toEqual(['bb', 'cc']);
    expect(newest(['aaaa'], { items: 9, bytes: 3 })).toEqual([]);
  });
});

describe('a target with 5,000 earlier releases', () => {
  it('carries less than Temporal’s limit, with names and reasons of any length', () => {
    const state = lived();
    expect(state.history.length).toBeGreaterThan(10);
    expect(state.queue.length).toBeGreaterThan(0);
    expect(state.rollbacks.length).toBeGreaterThan(5);
    expect(STATE_MAX_BYTES).toBeLessThan(2 * 1024 * 1024);
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(STATE_MAX_BYTES);
  });

  it('keeps the last hundred of normal size', () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => result(`release-${index}`));
    const state = rows.reduce<TargetState>((before, row) => recordResult(before, row, 1), EMPTY_TARGET);
    expect(state.history).toHaveLength(100);
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(100_000);
  });
});

/** The number of releases after which every list has reached its bound. */
const UNTIL_FULL = 200;

/** A state with the longest possible content, after every possible message. */
function lived(): TargetState {
  let state: TargetState = EMPTY_TARGET;
  for (let number = 1; number <= UNTIL_FULL; number++) {
    const id = `${number}-${LONG}`;
    const artifact = { kind: 'image', uri: id.slice(0, 1_000) } as const;
    const right = request(id.slice(0, 1_000), { artifact, requestedBy: LOUD, queue: 'all', commit: LONG });
    if (number % 10 === 0) {
      state = submitRelease(
        state,
        null,
        { ...right, target: { ...right.target, sourceConfig: { LONG: LONG.repeat(60) } } },
        NOW,
      ).state;
      state = quarantineArtifact(state, `image:${artifact.uri}`, LOUD, NOW);
      state = ignoreMessage(state, LONG, LONG, NOW);
    }
    state = withdrawSubmission(state, null, id.slice(0, 1_000), LOUD, NOW).state;
    state = recordResult(
      state,
      result(`release-${number}`, {
        requestKey: right.requestKey,
        artifact: artifact.uri,
        commit: LONG,
        reason: LONG,
        requestedBy: LOUD,
        knownRevisions: [
          { revisionId: `revision-${number}`, verified: true, artifact: `image:${artifact.uri}`, at: NOW },
        ],
      }),
      1,
    );
  }
  for (let number = 1; number <= 20; number++) {
    const message = {
      requestId: `${number}-${LONG}`.slice(0, 1_000),
      to: `${number}-${LONG}`.slice(0, 1_000),
      requestedBy: LOUD,
    };
    const taken = requestRollback({ state, running: null, now: NOW }, message);
    state = keepAnswer(taken.state, message.requestId, { state: 'answered', answer: taken.answer });
  }
  const largest = request('largest', {
    target: { ...request('').target, sourceConfig: { LONG: LONG.repeat(60) } },
    artifact: { kind: 'image', uri: LONG },
    requestedBy: LOUD,
  });
  expect(releaseRequestProblem(largest)).toBeUndefined();
  expect(
    releaseRequestProblem({
      ...largest,
      checks: [],
      commit: LONG,
      target: { ...largest.target, sourceConfig: { LONG: LONG.repeat(70) } },
    }),
  ).toContain('larger than');
  state = { ...state, hold: null };
  state = submitRelease(state, null, { ...largest, overrideHold: true }, NOW).state;
  for (let number = 1; number <= 60; number++) {
    state = submitRelease(state, null, { ...largest, queue: 'all', requestKey: `${number}` }, NOW).state;
  }
  return state;
}
