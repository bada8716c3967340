import { SlipwayError } from '../domain/errors.ts';
import type { ConfigProblem } from './configPlace.ts';

/** `slipway.yaml` is invalid: every problem with its place. In a file of its own, because `--help` must not load the YAML parser. */
export class ConfigError extends SlipwayError {
  readonly file: string;
  /** The errors, in the order of the file, without warnings. */
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map(
      ({ file: part, line, column, path, message }) =>
        `${part}:${line}:${column} ${path === '' ? '' : `${path}: `}${message}`,
    );
    const first = problems[0];
    super('SLIPWAY_CONFIG_INVALID', lines.join('\n'), {
      place: first === undefined ? file : `${first.file}:${first.line}:${first.column}`,
      hint: 'correct the file; docs/slipway.schema.json describes every field',
    });
    this.name = 'ConfigError';
    this.file = file;
    this.problems = problems;
  }
}
