import { expect, it } from 'vitest';

import { allCells, cellName } from './cells.ts';
import type { CrashEnding } from './crashRelease.ts';
import { findingsOf, matrixCounts, matrixTable, omissions, readMatrixTable } from './matrixTable.ts';

const endings: readonly CrashEnding[] = allCells().map((cell, index) => ({
  cells: [cell],
  outcome: index === 0 ? 'stuck' : 'released',
  problems: index < 2 ? ['something'] : [],
  duplicates: index === 1 ? 1 : 0,
  seconds: [index / 10],
  workflowId: undefined,
}));

it('the table shows every cell, and reads back unchanged', () => {
  const findings = findingsOf(endings);
  expect(findings.size).toBe(allCells().length);
  expect(readMatrixTable(matrixTable(findings))).toEqual(findings);
});

it('a cell that was not run is listed as such, and is no problem', () => {
  const table = matrixTable(new Map());
  expect(table.match(/not run/g)).toHaveLength(allCells().length);
  expect(readMatrixTable(table).size).toBe(0);
});

it('the counts include duplicates, stuck and wrong releases', () => {
  const counts = matrixCounts(findingsOf(endings));
  expect(counts).toContain(`${allCells().length} cells, ${allCells().length - 2} as they should be`);
  expect(counts).toContain('1 duplicate revisions, 1 stuck');
});

it('each cell has a unique name, and each omitted combination has a reason', () => {
  expect(new Set(allCells().map(cellName)).size).toBe(allCells().length);
  for (const reason of omissions().keys()) expect(reason).not.toBe('');
});
