import { CommanderError, type Command } from 'commander';

import { buildProgram } from '../../src/cli/program/program.ts';

const PROGRAM = buildProgram({ version: '0.0.0', onExit: () => undefined });
/** The commands that have parsed a line already, and hold its option values. */
const USED = new Set<Command>();

/**
 * Checks a command line of Slipway by its definitions, without running it.
 * @param words - the words after `slipway`.
 * @param isWhole - whether all required words must be present; else the command is only mentioned. Default: true.
 * @returns the problem; `undefined` if the line is valid.
 */
export function commandLineProblem(words: readonly string[], isWhole = true): string | undefined {
  let command: Command = PROGRAM;
  let rest = words.filter((word) => word !== '--help' && word !== '--version');
  for (;;) {
    const below = command.commands.find((candidate) => candidate.name() === rest[0]);
    if (below === undefined) break;
    command = below;
    rest = rest.slice(1);
  }
  if (command.parent === null) return rest.length === 0 ? undefined : `there is no command ${rest[0] ?? ''}`;
  forget(command);
  try {
    const { operands, unknown } = command.parseOptions(rest);
    if (unknown.length > 0) return `unknown: ${unknown.join(' ')}`;
    return argumentProblem(command, operands, isWhole) ?? (isWhole ? missingOption(command) : undefined);
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
}

function forget(command: Command): void {
  if (USED.has(command)) command.restoreStateBeforeParse();
  else command.saveStateBeforeParse();
  USED.add(command);
}

function argumentProblem(command: Command, given: readonly string[], isWhole: boolean): string | undefined {
  const places = command.registeredArguments;
  const missing = places.find(({ required }, index) => isWhole && required && given[index] === undefined);
  if (missing !== undefined) return `${missing.name()} is missing`;
  if (given.length > places.length && places.at(-1)?.variadic !== true) return `too many: ${given.join(' ')}`;
  const wrong = places.find(
    ({ argChoices }, index) => given[index] !== undefined && argChoices?.includes(given[index]) === false,
  );
  return wrong === undefined ? undefined : `${wrong.name()} is none of ${wrong.argChoices?.join(', ') ?? ''}`;
}

function missingOption(command: Command): string | undefined {
  const missing = command.options.find(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  return missing === undefined ? undefined : `${missing.flags} is missing`;
}
