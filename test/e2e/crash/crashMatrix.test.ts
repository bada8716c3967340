import { expect, it } from 'vitest';

import { cellName } from './cells.ts';
import { runCourses } from './lane.ts';
import { pairwiseCourses } from './pairwise.ts';

const courses = pairwiseCourses();
const count = courses.flatMap(({ releases }) => releases.flatMap(({ cells }) => cells)).length;

it(`a release ends as if no process had been killed, in ${count} cells of the matrix`, async () => {
  const endings = await runCourses(courses, 2);
  const wrong = endings
    .filter(({ problems }) => problems.length > 0)
    .map(({ cells, outcome, problems }) => [cells.map(cellName).join(' '), outcome, ...problems].join('\n'));
  expect(wrong).toEqual([]);
  expect(endings).toHaveLength(courses.length * 2);
}, 1_200_000);
