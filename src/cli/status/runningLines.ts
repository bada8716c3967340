import type { Progress } from '../../domain/release.ts';
import { stepLine } from '../follow/progressLines.ts';
import { underWayLines, type UnderWayShown } from '../follow/underWayLines.ts';
import type { Style } from '../style.ts';

/**
 * What runs, for people: each step, and what it waits for.
 *
 * @param now - in milliseconds since 1970.
 * @param columns - the terminal's width.
 */
export function runningLines(
  shown: UnderWayShown & { readonly progress: Progress },
  now: number,
  style: Style,
  columns = Infinity,
): readonly string[] {
  const { steps, verdicts } = shown.progress;
  return [
    ...steps.map((step) => `  ${stepLine(step, verdicts, now, style, columns - 2)}`),
    ...underWayLines(shown, now, style, columns),
  ];
}
