import { describe, expect, it } from 'vitest';

import { endUnstarted, setHold } from '../../../src/domain/target/targetQueue.ts';
import {
  EMPTY_TARGET,
  isToBeKept,
  keptStateOf,
  stateToKeep,
  type TargetState,
} from '../../../src/domain/target/targetState.ts';

const ADA = { who: 'ada', from: 'test' };
const NOW = '2026-01-01T00:00:00.000Z';

describe('the state that a target keeps in its record store', () => {
  it('comes back with all that must not be lost, and with fields that are added later', () => {
    const state = { ...setHold(EMPTY_TARGET, ADA, NOW), nextNumber: 7, later: 'a field' };
    const record: unknown = JSON.parse(JSON.stringify({ at: NOW, state: stateToKeep(state) }));
    expect(keptStateOf(record)).toEqual({ at: NOW, state });
  });

  it('is without what is long, and what is of the moment', () => {
    const row = { at: NOW, message: 'hold', by: ADA, note: '' };
    const long = endUnstarted({ ...EMPTY_TARGET, said: [row] }, RUNNING, NOW);
    expect(keptStateOf({ at: NOW, state: stateToKeep(long) })).toEqual({ at: NOW, state: EMPTY_TARGET });
  });

  it('is written when the hold, the quarantine or what is verified has changed, and not otherwise', () => {
    const other = (changes: Partial<TargetState>): boolean =>
      isToBeKept({ ...EMPTY_TARGET, ...changes }, EMPTY_TARGET);
    expect(other({ hold: { since: NOW, by: ADA } })).toBe(true);
    expect(other({ quarantined: [] })).toBe(true);
    expect(other({ known: [] })).toBe(true);
    expect(other({ nextNumber: 2, ignored: [] })).toBe(false);
    expect(isToBeKept(EMPTY_TARGET, null)).toBe(true);
  });

  it.each([undefined, null, 'text', {}])('is not read from %j', (record) => {
    expect(keptStateOf(record)).toBeUndefined();
  });
});

it('a release that its target had begun and that never came to be ends aborted', () => {
  const { history } = endUnstarted(EMPTY_TARGET, RUNNING, NOW);
  expect(history).toMatchObject([{ releaseId: 'release-3', outcome: 'aborted', requestKey: 'key' }]);
});

const RUNNING = {
  releaseId: 'release-3',
  kind: 'release',
  requestKey: 'key',
  workflowId: 't/release-3',
  to: null,
} as const;
