import { expect, it } from 'vitest';

import config from '../../vitest.config.ts';

it('projects that run at the same time have equal numbers of workers, which vitest requires', () => {
  const { projects = [], maxWorkers, sequence } = config.test!;
  const workers = new Map<number, Set<unknown>>();
  for (const project of projects) {
    const { test } = project as { test: NonNullable<typeof config.test> };
    const group = test.sequence?.groupOrder ?? sequence?.groupOrder ?? 0;
    workers.set(group, (workers.get(group) ?? new Set()).add(test.maxWorkers ?? maxWorkers));
  }
  expect([...workers.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
});
