import { expect, it } from 'vitest';

import { allCells, cellName } from './cells.ts';
import { pairsOf, pairwiseCourses } from './pairwise.ts';

const selected = pairwiseCourses().flatMap(({ releases }) => releases.flatMap(({ cells }) => cells));

it('the selection has every pair of step, moment and victim that the matrix has', () => {
  const pairs = new Set(selected.flatMap(pairsOf));
  expect(
    allCells()
      .flatMap(pairsOf)
      .filter((pair) => !pairs.has(pair)),
  ).toEqual([]);
});

it('the selection has only cells of the matrix, and none twice', () => {
  const names = selected.map(cellName);
  const all = new Set(allCells().map(cellName));
  expect(names.filter((name) => !all.has(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
