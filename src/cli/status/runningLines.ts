import { formatDuration } from '../../domain/duration.ts';
import type { Progress } from '../../domain/release.ts';
import { stepLine } from '../follow/progressLines.ts';
import type { Style } from '../style.ts';

/** What runs, for people: each step, and what it waits for. `now` in milliseconds since 1970. */
export function runningLines(
  { steps, verdicts, waiting }: Progress,
  now: number,
  style: Style,
): readonly string[] {
  const lines = steps.map((step) => `  ${stepLine(step, verdicts, now, style)}`);
  if (waiting === null) return lines;
  const left = formatDuration(Math.max(Date.parse(waiting.until) - now, 0));
  return [...lines, `  ${style.warn(`waits    ${waiting.note}; for ${left} still`)}`];
}
