import { describe, expect, it } from 'vitest';

import type { Check } from '../../../src/domain/check/check.ts';
import {
  afterFailure,
  checkIdentity,
  type FailedAttempt,
  type Finding,
  type StayReason,
  stayText,
} from '../../../src/domain/restore/restoreDecision.ts';

const check = (failedCheck: string): Finding => ({ failedCheck, silent: false });
/** No call worked: where a check was begun, its call failed. */
const silent = (failedCheck: string | null = null): Finding => ({ failedCheck, silent: true });

/** What was found before, how the attempt failed, its number, what else is so, and what follows. */
type Row = [string, Finding[], FailedAttempt, number, { manual?: boolean; others?: Finding[] }, string];

describe('after an attempt to restore a revision has failed', () => {
  it.each<Row>([
    ['the same check fails: it stays', [check('A')], check('A'), 1, {}, 'same_check'],
    ['the same check cannot be carried out on either', [silent('A')], check('A'), 1, {}, 'same_check'],
    [
      'the same check failed on what served before',
      [check('A'), check('B')],
      check('A'),
      1,
      {},
      'same_check',
    ],
    ['no call works on either', [silent()], silent('A'), 1, {}, 'no_call'],
    ['no call works on either, whatever the check', [silent('B')], silent('A'), 1, {}, 'no_call'],
    ['another check fails: one more try', [check('B')], check('A'), 1, {}, 'again'],
    ['another check fails again: the next one', [check('B')], check('A'), 2, {}, 'next'],
    ['a check fails where none was asked before', [], check('A'), 1, {}, 'again'],
    ['no call works, but calls worked before', [check('B')], silent('A'), 2, {}, 'next'],
    ['it was not deployed: one more try', [check('A')], 'not_deployed', 1, {}, 'again'],
    ['it was not deployed again: the next one', [check('A')], 'not_deployed', 2, {}, 'next'],
    ['the redeploy was not taken: the next one at once', [], 'not_taken', 1, {}, 'next'],
    ['a second revision fails another check', [check('C')], check('A'), 1, { others: [check('B')] }, 'again'],
    ['it fails that again', [check('C')], check('A'), 2, { others: [check('B')] }, 'next'],
    [
      'a second one fails the first one’s',
      [check('C')],
      check('B'),
      1,
      { others: [check('B')] },
      'same_check',
    ],
    ['no call works on two', [check('C')], silent('A'), 1, { others: [silent('B')] }, 'no_call'],
    ['a third fails another', [], check('A'), 1, { others: [check('B'), check('C')] }, 'everywhere'],
    ['a second revision is not deployed', [], 'not_deployed', 1, { others: [check('B')] }, 'again'],
    ['a person asked, and it fails its checks', [], check('A'), 1, { manual: true }, 'asked_for'],
    ['a person asked, and no call works', [], silent(), 1, { manual: true }, 'asked_for'],
    ['a person asked, and the same check fails', [check('A')], check('A'), 1, { manual: true }, 'same_check'],
    ['a person asked, and it is not deployed', [], 'not_deployed', 2, { manual: true }, 'next'],
  ])('%s', (_, before, attempt, tries, { manual = false, others = [] }, expected) => {
    const then = afterFailure({ attempt, tries, manual, before, others });
    expect(typeof then === 'object' ? then.stays : then).toBe(expected);
  });

  it.each<StayReason>(['same_check', 'no_call', 'everywhere', 'asked_for'])(
    'says which revision stays, and why: %s',
    (stays) => {
      const text = stayText(stays, 'r1', 'the answer is wrong');
      expect(text).toContain('revision r1 is restored');
      expect(text).toContain('the answer is wrong');
    },
  );
});

describe('a check', () => {
  const one: Check = {
    name: 'one',
    assistant: 'agent',
    input: { a: 1, b: 2 },
    expect: { contains: 'x' },
    timeoutMs: 1,
  };

  it('is the same under another name, with another deadline, and with its fields in another order', () => {
    const other = { ...one, name: 'other', timeoutMs: 9, input: { b: 2, a: 1 } };
    expect(checkIdentity(other)).toBe(checkIdentity(one));
  });

  it('is another one where its question, its assistant or its expectation differs', () => {
    for (const change of [{ input: { a: 2 } }, { assistant: 'b' }, { expect: { contains: 'y' } }]) {
      expect(checkIdentity({ ...one, ...change })).not.toBe(checkIdentity(one));
    }
  });
});
