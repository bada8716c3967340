import { describe, expect, it } from 'vitest';

import { announceFreezes } from '../../../src/cli/ui/freezes.ts';
import type { FreezeWindow } from '../../../src/domain/freeze/freeze.ts';
import { testOutput } from '../testOutput.ts';

const ALWAYS: FreezeWindow = {
  name: 'always',
  timeZone: 'UTC',
  from: '2020-01-01',
  until: '2999-01-01',
  then: 'refuse',
};
const NOT = { overrideFreeze: false, reason: undefined };

describe('the warning of a freeze before a release', () => {
  it('is an error if the freeze rejects, with its name and its end', () => {
    expect(announceFreezes(testOutput(), 'production', [ALWAYS], NOT)).toMatchObject({
      code: 'SLIPWAY_TARGET_FROZEN',
      message: '"production" is frozen by "always" until 2999-01-01 00:00 (UTC)',
    });
  });

  it('says that the release waits, if the freeze makes it wait', () => {
    const output = testOutput({ json: true });
    announceFreezes(output, 'production', [{ ...ALWAYS, then: 'wait' }], NOT);
    expect(output.events).toEqual([
      {
        event: 'frozen',
        target: 'production',
        name: 'always',
        until: '2999-01-01T00:00:00.000Z',
        overridden: false,
      },
    ]);
  });

  it('requires a reason if a freeze is overridden, in force or not', () => {
    const override = { overrideFreeze: true, reason: undefined };
    expect(() => announceFreezes(testOutput(), 'production', [], override)).toThrow('needs a reason');
    const output = testOutput();
    announceFreezes(output, 'production', [ALWAYS], { overrideFreeze: true, reason: 'incident 42' });
    expect(output.noted.join()).toContain('the request overrides it');
  });

  it('is absent if no freeze is in force', () => {
    const output = testOutput();
    announceFreezes(output, 'production', [{ ...ALWAYS, until: '2020-01-02' }], NOT);
    expect(output.noted).toEqual([]);
  });
});
