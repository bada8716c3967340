import { expect, it } from 'vitest';

import { lastLines } from '../../../src/cli/commands/demo.ts';

const PAGE = 'http://127.0.0.1:4701';

it('the demo ends with the address of the dashboard, open until Ctrl-C', () => {
  expect(lastLines(PAGE, true)).toEqual([
    `See it on the page: ${PAGE}`,
    'Everything keeps running until Ctrl-C.',
  ]);
});

it('the demo says that the dashboard is closed, and how to keep it open', () => {
  const [first, second] = lastLines(PAGE, false);
  expect(first).toContain(`was at ${PAGE}`);
  expect(second).toContain('--keep');
});
