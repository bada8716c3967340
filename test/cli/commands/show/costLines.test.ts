import { expect, it } from 'vitest';

import { costLines } from '../../../../src/cli/commands/show/cost.ts';
import { waitingCost } from '../../../../src/domain/cost/waitingCost.ts';
import { billedActions } from '../../../../src/temporal/history/billedActions.ts';

const WAITING = waitingCost(300_000);

it('the costs of a release are shown by kind, with those of its target and of waiting', () => {
  const { actions } = billedActions([]);
  const history = { actions: { ...actions, starts: 1, attempts: 4 }, total: 5, heartbeatsAtMost: 2 };
  expect(costLines({ history, ofTarget: 3, waiting: WAITING })).toEqual([
    '  billed actions in Temporal Cloud',
    '    this release: 8, and at most 2 for heartbeats',
    '      its history 5: 1 start, 4 attempts at activities',
    '      its target 3: the request, the start, what it reads and writes',
    '    an hour of waiting for a revision: 12, and 462 for its poller, which others share',
    '    a day of soak with checks every 5 minutes: 576',
  ]);
});

it('unknown costs are shown as such, if Temporal no longer has the history', () => {
  const [, line] = costLines({ history: null, ofTarget: 3, waiting: WAITING });
  expect(line).toBe('    not known: Temporal no longer has the history of this release');
});
