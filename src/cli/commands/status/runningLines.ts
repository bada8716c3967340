import type { Progress } from '../../../domain/release/release.ts';
import { stepLine } from '../../ui/progressLines.ts';
import type { Style } from '../../ui/style.ts';
import { underWayLines, type UnderWayShown } from '../../ui/underWayLines.ts';

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
