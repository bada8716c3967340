import { expect, it } from 'vitest';

import { allCells, cellName } from './cells.ts';
import { pairsOf, pairwiseCourses } from './pairwise.ts';

const selected = pairwiseCourses().flatMap(({ releases }) => releases.flatMap(({ cells }) => cells));

it('the selection covers every pair of step, moment and victim of the matrix', () => {
  const pairs = new Set(selected.flatMap(pairsOf));
  expect(
    allCells()
      .flatMap(pairsOf)
      .filter((pair) => !pairs.has(pair)),
  ).toEqual([]);
});

it('the selection contains only cells of the matrix, each once', () => {
  const names = selected.map(cellName);
  const all = new Set(allCells().map(cellName));
  expect(names.filter((name) => !all.has(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
