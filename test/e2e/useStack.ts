import { afterAll, beforeAll, expect } from 'vitest';

import { Stack } from './stack.ts';

/** A stack for all tests of a file. Use it only while they run. */
export function useStack(...given: ConstructorParameters<typeof Stack>): Stack {
  const stack = new Stack(...given);
  beforeAll(() => stack.begin());
  afterAll(() => stack.stop());
  return stack;
}

/** The same; after the tests, no rule was broken. */
export function useAuditedStack(...given: ConstructorParameters<typeof Stack>): Stack {
  const stack = useStack(...given);
  afterAll(async () => expect(await stack.audit()).toEqual([]));
  return stack;
}
