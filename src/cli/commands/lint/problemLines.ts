import { relative } from 'node:path';

import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { Output } from '../../output.ts';
import type { Style } from '../../ui/text.ts';

const EXCERPT_MAX = 120;
/** How many of them stay before the problem's column if the line is cut. */
const EXCERPT_BEFORE = 40;

function problemLines(problem: ConfigProblem, style: Style): readonly string[] {
  const { file, severity, code, line, column, path, message } = problem;
  const mark = severity === 'error' ? style.bad('error') : style.warn('warning');
  const what = path === '' ? message : `${style.strong(path)}: ${message}`;
  const margin = ' '.repeat(String(line).length);
  const { text, caret } = cut(problem);
  return [
    `${nearName(file)}:${line}:${column} ${mark} ${what}${code === undefined ? '' : ` (${code})`}`,
    `  ${style.faint(`${line} |`)} ${text}`,
    `  ${style.faint(`${margin} |`)} ${style.strong(caret)}`,
  ];
}

/** A file's path relative to the working folder; absolute if it is outside. */
export function nearName(file: string): string {
  const near = relative(process.cwd(), file);
  return near === '' || near.startsWith('..') ? file : near;
}

function cut({ excerpt, column, length }: ConfigProblem): { readonly text: string; readonly caret: string } {
  const from = column + length > EXCERPT_MAX ? Math.max(column - 1 - EXCERPT_BEFORE, 0) : 0;
  const before = from === 0 ? '' : '…';
  const room = EXCERPT_MAX - before.length;
  // Control characters must not reach the terminal.
  const text = excerpt.slice(from, from + room).replaceAll(/\p{Cc}/gu, ' ');
  const start = before.length + column - 1 - from;
  const carets = Math.max(Math.min(length, before.length + text.length - start), 1);
  return {
    text: `${before}${text}${from + room < excerpt.length ? '…' : ''}`,
    caret: `${' '.repeat(start)}${'^'.repeat(carets)}`,
  };
}

/**
 * Prints problems of `slipway.yaml`: one event each, and lines for people.
 * @param how - as the command's result, or as notes beside it.
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
