import { describe, expect, it } from 'vitest';

import {
  type Evaluator,
  type EvaluatorScores,
  longestScoreMs,
  scoreProblem,
  scoresText,
  withScore,
} from '../../../src/domain/check/evaluator.ts';
import { checkIdentity } from '../../../src/domain/restore/restoreDecision.ts';
import { coverChecks } from '../../../src/domain/stepTable.ts';
import { GREETS } from '../../workflows/requests.ts';

const TONE: Evaluator = {
  ...{ name: 'tone', url: 'http://e.test', minScore: 0.8, timeoutMs: 30_000, onNoScore: 'pass' },
};

function scored(...said: readonly (number | string)[]): readonly EvaluatorScores[] {
  return said.reduce<readonly EvaluatorScores[]>((before, one) => {
    const run = typeof one === 'string' ? one : { score: one, comment: `about ${one}` };
    return [withScore(TONE, before, run)];
  }, []);
}

describe('the scores of an evaluator', () => {
  it('keep their order, the comment of the lowest, and why the last is missing', () => {
    expect(scored(0.9, 'away', 0.4, 0.5, 'slow')).toEqual([
      {
        ...{ evaluator: 'tone', minScore: 0.8, scores: [0.9, null, 0.4, 0.5, null] },
        ...{ comment: 'about 0.4', noScore: 'slow' },
      },
    ]);
  });

  it.each([
    [[0.9], 'tone 0.9'],
    [[1 / 3], 'tone 0.3333'],
    [[0.9, 0.9], 'tone 0.9'],
    [[0.9, 0.25, 1], 'tone 0.25 to 1'],
    [['it is away'], 'tone no score (it is away)'],
    [['it is away', 0.9, 0.8], 'tone 0.8 to 0.9 in 2 of 3 runs (it is away)'],
  ])('%j are told as "%s"', (said, text) => {
    expect(scoresText(scored(...said))).toBe(text);
  });

  it.each([
    [0.8, undefined],
    [1, undefined],
    [0.799999, 'evaluator "tone" scored 0.799999, at least 0.8 is needed'],
    [1 / 3, 'evaluator "tone" scored 0.3333, at least 0.8 is needed'],
  ])('%d passes, or does not', (score, problem) => {
    expect(scoreProblem(TONE, { score, comment: null })).toBe(problem);
  });
});

it('a step that runs checks has time for the slowest evaluator of each repetition, with its waits', () => {
  const startToCloseOf = (evaluators: readonly Evaluator[]): number =>
    coverChecks('check', {}, [{ ...GREETS, timeoutMs: 60_000, repeat: 10, evaluators }]).check
      ?.startToCloseMs ?? 0;
  const slow = { ...TONE, name: 'facts', timeoutMs: 60_000 };
  expect(startToCloseOf([TONE, slow]) - startToCloseOf([])).toBe(10 * longestScoreMs(slow));
  expect(longestScoreMs(slow)).toBe(5 * 60_000 + 4 * 30_000);
});

it('a check with another limit of a score is another check', () => {
  const limit = (minScore: number) =>
    checkIdentity({ ...GREETS, evaluators: [{ ...TONE, minScore }], reference: 'x' });
  expect(limit(0.8)).toBe(limit(0.8));
  expect(new Set([limit(0.8), limit(0.9), checkIdentity(GREETS)]).size).toBe(3);
});
