/** An agent that lived this long counts as having started well, in milliseconds. */
export const LIVED_WELL_MS = 60_000;

/**
 * How long to wait before an agent that ended by itself is started again, in milliseconds: at once the first time,
 * then 0.5 s, doubling up to 30 s.
 * @param failures How often in a row it ended before {@link LIVED_WELL_MS}, or did not start at all; from 0.
 */
export function restartDelay(failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(500 * 2 ** (failures - 1), 30_000);
}
