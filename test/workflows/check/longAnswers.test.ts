import { expect, it } from 'vitest';

import { jsonBytes } from '../../../src/domain/bounds.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { notTaken } from '../faults.ts';
import { GREETS } from '../requests.ts';
import type { Fault } from '../world.ts';

/** Of each kind of character: one that JSON writes in six bytes, one of three bytes, and one of two UTF-16 units. */
const LONG = `hello ${'\u0001\u0001\u0001\u0001界😀'.repeat(2_000)}`;

describeWorkflows('an agent with long answers', (harness) => {
  it('is released through 100 checks and a soak, by a result of which Temporal takes many times as much', async () => {
    const target = harness.newTarget();
    target.world.answer = LONG;
    const checks = Array.from({ length: 100 }, (_, index) => ({ ...GREETS, name: `check ${index}` }));
    const { releaseId } = await target.submit('a', { checks, soakMs: 1_000 });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released' });
    expect(result.verdicts).toHaveLength(checks.length);
    // Half of a surrogate pair has no bytes of its own.
    for (const { answer } of result.verdicts) expect(Buffer.from(answer).toString()).toBe(answer);
    expect(jsonBytes(result)).toBeLessThan(200_000);
  });

  it('that cannot be told at last: the failure that ends the release carries all of its result', async () => {
    const { target } = harness.newServingTarget();
    target.world.answer = LONG;
    const checks = Array.from({ length: 100 }, (_, index) => ({ ...GREETS, name: `check ${index}` }));
    const answers = checks.slice(1).map((): Fault => (perform) => perform());
    target.world.next('runCheck', ...answers, notTaken(), notTaken());
    const result = await target.release('b', { checks, onError: { then: 'stop', waitMs: 0 } });
    expect(result).toMatchObject({ outcome: 'errored' });
    expect(result.verdicts).toHaveLength(checks.length - 1);
  });
});
