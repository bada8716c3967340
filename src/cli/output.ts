import { stripVTControlCharacters } from 'node:util';

import type { JsonEvent } from './events/index.ts';
import { styleOf } from './ui/style.ts';

/** Where a command's words go. A command says each thing once: as text for people, or as an event for programs. */
export type Output = ReturnType<typeof createOutput>;

/** The version of the events that are printed: their `schemaVersion`. docs/json.md says what changes need a new one. */
export const SCHEMA_VERSION = 1;

const DEFAULT_COLUMNS = 100;

/**
 * Makes the output of one command. Colors and rewriting only on a terminal, and never with `NO_COLOR` or `CI`.
 *
 * @param options.quiet - print only what was asked for, how it ended, warnings and errors.
 */
export function createOutput({
  json,
  verbose,
  quiet,
  environment,
  stdout,
  stderr,
}: {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Pick<NodeJS.WriteStream, 'columns' | 'isTTY' | 'write'>;
  readonly stderr: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
}) {
  const plain = isSet(environment['CI']) || environment['TERM'] === 'dumb';
  const terminal = stdout.isTTY && !json;
  const colored = terminal && !plain && !isSet(environment['NO_COLOR']);
  const print = (line: string): void => {
    if (!json) stdout.write(`${line}\n`);
  };
  const note = (line: string): void => {
    // Styles follow stdout; stderr may go to a file all the same.
    if (!json) stderr.write(`${stderr.isTTY ? line : stripVTControlCharacters(line)}\n`);
  };
  return {
    /** One JSON object per line, on stdout, instead of text. */
    json,
    /** Stacks and causes are shown. */
    verbose,
    style: styleOf(colored),
    /** Whether lines may be rewritten in place: text, on a terminal, not in CI, not quiet. */
    live: terminal && !plain && !quiet,
    /** The terminal's width in characters. Some say that they are 0 wide. */
    columns: (): number => (stdout.isTTY && stdout.columns > 0 ? stdout.columns : DEFAULT_COLUMNS),
    /** A line for people, on stdout. Nothing with `--json`. */
    print,
    /** A line for people of a warning or an error, or of what to do next, on stderr. Nothing with `--json`. */
    note,
    /** A line for people about what goes on, on stdout. Nothing with `--json` or `--quiet`. */
    info: (line: string): void => {
      if (!quiet) print(line);
    },
    /** A line for people about what is being made ready, on stderr. Nothing with `--json` or `--quiet`. */
    progress: (line: string): void => {
      if (!quiet) note(line);
    },
    /** An event for programs, on stdout. Nothing without `--json`. `events/` has their types, `docs/json.md` lists them. */
    event: (event: JsonEvent): void => {
      if (json) stdout.write(jsonLine(event));
    },
    /** Text as it is, on stdout: for what is rewritten in place. */
    raw: (text: string): void => {
      stdout.write(text);
    },
  };
}

/** An event as it is printed: one line, with the version that it follows. */
export function jsonLine({ event, ...fields }: JsonEvent): string {
  return `${JSON.stringify({ event, schemaVersion: SCHEMA_VERSION, ...fields })}\n`;
}

/** `NO_COLOR` and `CI` count by being there; `CI=false` is a common way to say that they are not. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}
