import type { Progress } from '../../domain/release.ts';
import type { RunningCall } from '../../temporal/runningCall.ts';
import { stepLine } from '../follow/progressLines.ts';
import { callLine, waitingLines } from '../follow/waitingLines.ts';
import type { Style } from '../style.ts';

/**
 * What runs, for people: each step, what the one under way found, and what it waits for.
 *
 * @param addressed - how a command names what runs: `production`, `--promotion up`.
 * @param now - in milliseconds since 1970.
 */
export function runningLines(
  progress: Progress,
  call: RunningCall | undefined,
  addressed: string,
  now: number,
  style: Style,
): readonly string[] {
  const { steps, verdicts } = progress;
  return [
    ...steps.map((step) => `  ${stepLine(step, verdicts, now, style)}`),
    ...(call === undefined ? [] : [`  ${callLine(call, now)}`]),
    ...waitingLines(progress, addressed, now).map((line) => `  ${style.warn(line)}`),
  ];
}
