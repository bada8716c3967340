import { describe, expect, it } from 'vitest';

import { essentialOutput, shownPattern } from './shownOutput.ts';

const PRINTED = `Releasing sha256:4f140703a1f8 (4 KB, 6 files) on staging
  ✔ deployed                               26.8s  2 attempts, DEPLOYED
  ✔ record                                  58ms  staging/2026-11-22T11-51-08-533Z-release-1.json
✔ released in 1m30s (release-1)
`;

describe('the output in a page', () => {
  it.each([
    [
      'of another run',
      PRINTED.replace('4f140703a1f8', 'b1bab50e8468').replace('26.8s  2 attempts, ', '500ms '),
    ],
    ['with lines left out', 'Releasing …\n…\n✔ released in 3s (release-1)\n'],
    ['with lines left out at the end', 'Releasing sha256:00 (9 KB, 6 files) on …\n…\n'],
  ])('matches the printed one: %s', (_, shown) => {
    expect(essentialOutput(PRINTED)).toMatch(shownPattern(shown));
  });

  it('matches one of a slow machine, which also tells what a step waits for', () => {
    const call = '  now      revision 5f63285c is BUILDING\n';
    const slow = `  … deployed    15s\n${call}    added 23 packages in 9s\n${call}`;
    expect(essentialOutput(PRINTED.replace('  ✔ dep', `${slow}  ✔ dep`))).toMatch(shownPattern(PRINTED));
  });

  it.each([
    ['another word', PRINTED.replace('DEPLOYED', 'FAILED')],
    ['another number of files', PRINTED.replace('6 files', '7 files')],
    ['a line too few', PRINTED.split('\n').slice(1).join('\n')],
    ['a line too many', `${PRINTED}and more\n`],
  ])('does not match: %s', (_, shown) => {
    expect(essentialOutput(PRINTED)).not.toMatch(shownPattern(shown));
  });
});
