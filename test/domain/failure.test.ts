import { describe, expect, it } from 'vitest';

import { failureDetail } from '../../src/domain/failure.ts';

describe('a failure’s detail', () => {
  it('is the first of the details', () => {
    const detail = { code: 'SLIPWAY_REFUSED', mayHaveBeenTaken: false, attempt: 2 };
    expect(failureDetail([detail, 'more'])).toBe(detail);
  });

  it.each([undefined, null, [], ['text'], [null], [7], [{}]])('is absent in %j', (details) => {
    expect(failureDetail(details)).toBeUndefined();
  });
});
