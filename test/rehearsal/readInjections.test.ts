import { describe, expect, it } from 'vitest';

import { SlipwayError } from '../../src/domain/errors.ts';
import { readInjections } from '../../src/rehearsal/readInjections.ts';

const KNOWN = { checks: ['greets', 'uses its tool'], targets: ['canary', 'production'] };
const HOUR_MS = 3_600_000;

function read(text: string) {
  return readInjections(text, 'incidents.txt', KNOWN);
}

function problemOf(text: string): SlipwayError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof SlipwayError) return error;
    throw error;
  }
  throw new Error('it was understood');
}

describe('an injection', () => {
  it.each([
    [
      'check greets fails',
      { kind: 'check', check: 'greets', how: 'fails', target: null, when: { kind: 'always' } },
    ],
    [
      'check "uses its tool" errs on canary from 3h to 4h of the soak',
      {
        kind: 'check',
        check: 'uses its tool',
        how: 'errs',
        target: 'canary',
        when: { kind: 'since', of: 'soak', from: 3 * HOUR_MS, until: 4 * HOUR_MS, once: false },
      },
    ],
    [
      'check greets fails at 3h into the bake',
      { kind: 'check', when: { kind: 'since', of: 'bake', from: 3 * HOUR_MS, until: null, once: true } },
    ],
    [
      'control plane of production is down from 22:00 to 06:00',
      {
        kind: 'control_plane',
        target: 'production',
        when: { kind: 'clock', from: '22:00', until: '06:00', once: false },
      },
    ],
    [
      'control plane is down from Tue 22:00 to Wed 06:00',
      { kind: 'control_plane', target: null, when: { kind: 'clock', from: 'Tue 22:00', until: 'Wed 06:00' } },
    ],
    [
      'build fails on production at 2026-12-23 18:00',
      { kind: 'build', target: 'production', when: { kind: 'clock', from: '2026-12-23 18:00', until: null } },
    ],
    ['judge is inconclusive', { kind: 'judge', verdict: 'inconclusive', when: { kind: 'always' } }],
    ['judge fails at 26h', { kind: 'judge', verdict: 'failed', when: { kind: 'since', of: 'rehearsal' } }],
    ['nobody approves', { kind: 'approval', says: null }],
    [
      'ada@example.com approves after 2h',
      { kind: 'approval', says: { who: 'ada@example.com', what: 'approve', afterMs: 2 * HOUR_MS } },
    ],
    ['"Bo B." rejects', { kind: 'approval', says: { who: 'Bo B.', what: 'reject', afterMs: 0 } }],
    [
      'release on canary at 2d',
      { kind: 'release', target: 'canary', when: { from: 48 * HOUR_MS, once: true } },
    ],
  ])('is valid: %s', (text, expected) => {
    expect(read(text)).toMatchObject([{ ...expected, text }]);
  });

  it('is a line of its own, beside comments', () => {
    const injections = read('# what goes wrong\n\n  nobody approves  # all week\r\njudge fails\n');
    expect(injections.map(({ text }) => text)).toEqual(['nobody approves', 'judge fails']);
  });

  it.each([
    ['chek greets fails', 'did you mean "check"?', 'incidents.txt:1:1'],
    ['nobody approves\ncheck greet fails', 'did you mean "greets"?', 'incidents.txt:2:7'],
    ['check greets fails on staging', 'there are: canary, production', 'incidents.txt:1:23'],
    ['check greets breaks', 'expected "fails" or "errs"', 'incidents.txt:1:14'],
    ['check greets fails form 3h', 'did you mean "from"?', 'incidents.txt:1:20'],
    ['check greets fails at noon', 'expected a time such as 3h', 'incidents.txt:1:23'],
    ['check greets fails from 3h to Tue 22:00', 'two durations, or two moments', 'incidents.txt:1:31'],
    ['check greets fails from 4h to 3h', 'expected a time after the first', 'incidents.txt:1:31'],
    ['check greets fails from 22:00 to Wed 06:00', 'of the same kind', 'incidents.txt:1:34'],
    ['check greets fails at 3h of the day', 'expected "soak" or "bake"', 'incidents.txt:1:33'],
    ['check greets', 'expected "fails" or "errs"', 'incidents.txt:1:13'],
    ['nobody approves anything', 'expected the end of the sentence', 'incidents.txt:1:17'],
    ['ada approves after lunch', 'expected a duration such as', 'incidents.txt:1:20'],
    ['everything burns', 'expected one of:\n  check NAME fails|errs', 'incidents.txt:1:1'],
  ])('that is invalid is reported with its place and the expected form: %s', (text, message, place) => {
    const problem = problemOf(text);
    expect(problem.code).toBe('SLIPWAY_USAGE');
    expect(problem.message).toContain(message);
    expect(problem.place).toBe(place);
  });
});
