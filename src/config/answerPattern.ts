import { createContext, Script } from 'node:vm';

import { MATCH_MAX_MS, type PatternCheck } from '../domain/check/expectation.ts';

/** Matches texts with regular expressions in Unicode mode. */
export const matchesPattern: PatternCheck = (pattern, text) => {
  const expression = new RegExp(pattern, 'u');
  return withinLimit(() => expression.test(text)) ?? null;
};

/**
 * Interrupts work that takes longer than {@link MATCH_MAX_MS}: a regular expression may backtrack for years, and nothing
 * else in the process would happen meanwhile. V8 interrupts it only below code that `node:vm` runs with a timeout.
 * @returns `undefined` if it was interrupted.
 */
export function withinLimit<T>(work: () => T): T | undefined {
  place ??= createContext({}) as { work?: unknown };
  place.work = work;
  try {
    return SCRIPT.runInContext(place, { timeout: MATCH_MAX_MS }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    delete place.work;
  }
}

const SCRIPT = new Script('work()');
/** Making one takes milliseconds, so all share it, and commands that match nothing do without. */
let place: { work?: unknown } | undefined;
