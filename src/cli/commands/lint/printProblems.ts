import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { Output } from '../../output.ts';
import { problemLines } from './problemLines.ts';

/**
 * Tells problems of `slipway.yaml`: an event each, and lines for people.
 *
 * @param how - where the lines go: what was asked for, or by the way.
 */
export function printProblems(
  output: Output,
  problems: readonly ConfigProblem[],
  how: 'print' | 'note',
): void {
  for (const problem of problems) {
    output.event({ event: 'problem', ...problem });
    for (const line of problemLines(problem, output.style)) output[how](line);
  }
}
