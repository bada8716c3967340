import { SlipwayError } from '../domain/errors.ts';
import type { ConfigProblem } from './configPlace.ts';

/** `slipway.yaml` is not right: every problem with its place. Not beside the places: those load YAML, which help needs not. */
export class ConfigError extends SlipwayError {
  /** The file, as it was named. */
  readonly file: string;
  /** What is wrong, in the order of the file; warnings are not among them. */
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
