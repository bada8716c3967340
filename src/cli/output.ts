import { stripVTControlCharacters } from 'node:util';

import { type Environment, isOn, setting } from '../config/environment.ts';
import type { JsonEvent } from './events/index.ts';
import { OWN, type Screen, styleOf } from './ui/text.ts';

/** The output of a command: text for people, or events for programs. */
export type Output = ReturnType<typeof createOutput>;

/** The `schemaVersion` of the printed events. docs/json.md says which changes need a new one. */
export const SCHEMA_VERSION = 1;

const DEFAULT_COLUMNS = 100;

/**
 * Slipway's own colors and erasing; ends of lines and tabs; colors of a text from outside; control characters, and those
 * that reorder the rest of a line.
 */
const CONTROL = new RegExp(
  String.raw`(?<before>\r?\u001b\[)${OWN};(?<code>\d+[mK])|(?<kept>\r?\n|\r$|\t)|(?<color>\u001b\[[\d;:]*m)|[\p{Cc}\u202a-\u202e\u2066-\u2069]`,
  'gu',
);

/**
 * Makes the output of one command. It uses colors and rewrites lines only on a terminal, and never with `NO_COLOR` or
 * `CI`.
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
  readonly environment: Environment;
  readonly stdout: Pick<NodeJS.WriteStream, 'columns' | 'isTTY' | 'write'>;
  readonly stderr: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
}) {
  const plain = isOn(environment, 'CI') || environment['TERM'] === 'dumb';
  const terminal = stdout.isTTY && !json;
  const live = terminal && !plain && !quiet;
  // The convention (no-color.org): any value turns colors off, also 0.
  const colored = terminal && !plain && setting(environment, 'NO_COLOR') === undefined;
  const style = styleOf(colored);
  const shown = (line: string): string => {
    if (line.startsWith(COMMAND)) return visible(line.slice(COMMAND.length));
    return isOn(environment, 'GITHUB_ACTIONS') ? withoutCommands(visible(line)) : visible(line);
  };
  const print = (line: string): void => {
    if (!json) stdout.write(`${shown(line)}\n`);
  };
  const note = (line: string): void => {
    // Styles depend on stdout; stderr may be a file.
    if (!json) stderr.write(`${shown(stderr.isTTY ? line : stripVTControlCharacters(line))}\n`);
  };
  const columns = (): number => {
    if (!live) return Infinity;
    return stdout.columns > 0 ? stdout.columns : DEFAULT_COLUMNS;
  };
  return {
    /** One JSON object per line, on stdout, instead of text. */
    json,
    verbose,
    style,
    /** Whether lines may be rewritten in place: text, on a terminal, not in CI, not quiet. */
    live,
    /** The terminal's width in characters, which some report as 0. `Infinity` if lines are not rewritten: a log keeps them whole. */
    columns,
    /** The terminal as it is now. */
    screen: (): Screen => ({ style, columns: columns(), now: Date.now() }),
    /** A line for people, on stdout. Nothing with `--json`. */
    print,
    /** A warning, an error or a next step for people, on stderr. Nothing with `--json`. */
    note,
    /** A highlighted {@link note}. */
    warn: (line: string): void => note(style.warn(line)),
    /** A line for people about progress, on stdout. Nothing with `--json` or `--quiet`. */
    info: (line: string): void => {
      if (!quiet) print(line);
    },
    /** A line for people about preparations, on stderr. Nothing with `--json` or `--quiet`. */
    progress: (line: string): void => {
      if (!quiet) note(line);
    },
    /** An event for programs, on stdout. Nothing without `--json`. `events/` has their types, `docs/json.md` lists them. */
    event: (event: JsonEvent): void => {
      if (json) stdout.write(jsonLine(event));
    },
    /** Raw text on stdout, for lines that are rewritten in place. */
    raw: (text: string): void => {
      stdout.write(text);
    },
  };
}

/**
 * Replaces the control characters of a text, such as an agent's answer, so that it cannot command the terminal. Removes its
 * colors, but not those of Slipway.
 */
export function visible(text: string): string {
  return text.replaceAll(CONTROL, (sign, before?: string, code?: string, kept?: string, color?: string) => {
    if (before !== undefined) return `${before}${code}`;
    return kept ?? (color === undefined ? hex(sign) : '');
  });
}

/** The same for a name, in which colors and ends of lines have no place either. */
export function visibleName(name: string): string {
  return name.replaceAll(/\p{Cc}/gu, hex);
}

const COMMAND = `\u001b[${OWN}:`;

/** A line that is a command to the log of a CI system, which a text from outside cannot be. */
export function ciCommand(line: string): string {
  return COMMAND + line;
}

/** GitHub's runner takes a line for a command if it begins with `::` after spaces, or contains `##[`. */
function withoutCommands(text: string): string {
  return text.replaceAll(/(?<=^\s*):(?=:)|(?<=##)\[/gmu, hex);
}

function hex(sign: string): string {
  return `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

export function jsonLine({ event, ...fields }: JsonEvent): string {
  const line = JSON.stringify({ event, schemaVersion: SCHEMA_VERSION, ...fields });
  // Other control characters are escaped already.
  // `##[` would be a command to GitHub's runner.
  return `${line.replaceAll(/[\u007f-\u009f]|(?<=##)\[/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)}\n`;
}
