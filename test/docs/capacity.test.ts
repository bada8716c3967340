import { readFileSync } from 'node:fs';

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';

import { waitingCost } from '../../src/domain/cost/waitingCost.ts';
import { ACTIONS_OF_TARGET as OF_TARGET, billedActions } from '../../src/temporal/history/billedActions.ts';

/** The page's rows that a stored history confirms, and what the target adds. */
const ROWS: readonly (readonly [row: string, history: string, added: number])[] = [
  ['a release over another one, one check', 'promotion.2.release', OF_TARGET.release],
  ['the first release of a target', 'first-release-then-failed-check.1.release', OF_TARGET.release],
  ['a release whose check fails', 'first-release-then-failed-check.2.release', OF_TARGET.release],
  ['a manual rollback', 'rollbacks-and-hold.4.rollback', OF_TARGET.rollback],
  ['a release that waits for its revision', 'slow-revision.1.release', OF_TARGET.release],
  ['a promotion with soak and bake', 'promotion.5.promotion', 0],
];

const page = readFileSync(new URL('../../docs/capacity.md', import.meta.url), 'utf8');

describe('docs/capacity.md', () => {
  it.each(ROWS)('has the billed actions of %s', (row, name, added) => {
    const [, most] = new RegExp(`^\\| ${row}[^|]*\\| +(\\d+) \\|$`, 'm').exec(page) ?? [];
    const file = new URL(`../histories/${name}.json`, import.meta.url);
    const { history } = JSON.parse(readFileSync(file, 'utf8')) as { readonly history: unknown };
    const actions = billedActions(historyFromJSON(history).events ?? []).total + added;
    expect(actions).toBeLessThanOrEqual(Number(most));
    // If the actions decrease, lower the figure on the page.
    expect(actions).toBeGreaterThan(Number(most) * 0.8);
  });

  it('has the costs of waiting: heartbeats and attempts', () => {
    const { parkedHour, pollerHour } = waitingCost(30 * 60_000);
    expect(page).toMatch(new RegExp(`an hour of a release that waits +\\| ${parkedHour}:`));
    expect(page).toMatch(new RegExp(`poller.* ${pollerHour} an hour`));
    for (const [minutes, text] of [
      [30, '`checkEvery: 30m` adds 48 × 2 = '],
      [5, 'with 5 minutes it adds '],
    ] as const) {
      expect(page).toContain(`${text}${waitingCost(minutes * 60_000).soakedDay}`);
    }
  });
});
