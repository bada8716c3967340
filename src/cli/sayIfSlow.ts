import type { Output } from './output.ts';

/** After this time, a command says what it waits for, in milliseconds. */
const SLOW_MS = 1_000;

/** Prints what a command waits for if it takes longer than a second. */
export async function sayIfSlow<T>(
  { progress }: Pick<Output, 'progress'>,
  line: string,
  work: Promise<T>,
): Promise<T> {
  const slow = setTimeout(() => progress(line), SLOW_MS);
  return work.finally(() => clearTimeout(slow));
}
