import type { Command } from 'commander';

import { type CommandContext, commandContext, type CommonOptions } from '../context.ts';

/**
 * Makes the action of a command: loads what it runs, calls that with the context, the arguments and the options, and
 * reports its exit code.
 */
export type Runs = (
  // Commander knows the types of what it gives no better.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  load: () => Promise<(context: CommandContext, ...given: any[]) => Promise<number>>,
) => (...given: unknown[]) => Promise<void>;

/** Where commands are put that share the options, the help and the way of telling errors of them all. */
export interface CommandTable {
  /** What all of them are commands of. */
  readonly program: Command;
  /** Slipway's. */
  readonly version: string;
  /** A command with the common options, and its examples below its help. */
  readonly command: (name: string, description: string, ...examples: readonly string[]) => Command;
  /** A name above several commands, which does nothing by itself. */
  readonly group: (name: string, description: string) => Command;
  readonly runs: Runs;
}

/**
 * A table that puts its commands under a program.
 *
 * @param onExit - told the exit code of the command that ran.
 */
export function commandTable(
  program: Command,
  version: string,
  onExit: (exitCode: number) => void,
): CommandTable {
  const group = (name: string, description: string): Command =>
    program.command(name).description(description).exitOverride().configureOutput(SILENT);
  return {
    program,
    version,
    group,
    command: (name, description, ...examples) => {
      const made = withOutputOptions(group(name, description)).option(
        '--home <dir>',
        'the folder for state (default: SLIPWAY_HOME, or .slipway)',
      );
      if (examples.length === 0) return made;
      return made.addHelpText(
        'after',
        `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`,
      );
    },
    runs:
      (load) =>
      async (...given) => {
        // Commander adds the command itself, which knows the options of those above it, too.
        const options = (given.at(-1) as Command).optsWithGlobals<CommonOptions>();
        const context = commandContext(options);
        const { printError } = await import('../ui/errorReport.ts');
        try {
          const run = await load();
          onExit(await run(context, ...given.slice(0, -2), options));
        } catch (error) {
          onExit(printError(context.output, error));
          await (await import('../ci/reportInCi.ts')).reportErrorInCi(context, error);
        }
      },
  };
}

/** Gives a command the options of how it tells what it has to tell. */
export function withOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print one JSON object per line (docs/json.md)')
    .option('-q, --quiet', 'print only the result and errors')
    .option('--verbose', 'show stacks and causes of errors');
}

/** What is wrong with the command line is told by the caller, in the one way that errors are told. */
export const SILENT = { outputError: () => undefined } as const;
