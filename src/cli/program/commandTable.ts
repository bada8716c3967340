import type { Command } from 'commander';

import { type CommandContext, commandContext, type CommonOptions } from '../context.ts';

/**
 * Makes a command's action: loads its code, calls it with the context, the arguments and the options, and reports the
 * exit code that it returns.
 * @param fixed - arguments before those of the command line.
 */
export type Runs = (
  // Commander does not type these arguments.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  load: () => Promise<(context: CommandContext, ...given: any[]) => Promise<number>>,
  ...fixed: readonly unknown[]
) => (...given: unknown[]) => Promise<void>;

export interface CommandTable {
  readonly program: Command;
  readonly version: string;
  readonly command: (name: string, description: string, ...examples: readonly string[]) => Command;
  /** A parent of several commands, without an action. */
  readonly group: (name: string, description: string) => Command;
  readonly runs: Runs;
}

/** A table that adds its commands to a program. @param onExit - called with the exit code of the command that ran. */
export function commandTable(
  program: Command,
  version: string,
  onExit: (exitCode: number) => void,
): CommandTable {
  const group = (name: string, description: string): Command =>
    program.command(name).description(description);
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
      (load, ...fixed) =>
      async (...given) => {
        // Commander's last argument is the command, which also knows its parents' options.
        const options = (given.at(-1) as Command).optsWithGlobals<CommonOptions>();
        const context = commandContext(options);
        const { printError } = await import('../ui/errorReport.ts');
        try {
          const run = await load();
          onExit(await run(context, ...fixed, ...given.slice(0, -2), options));
        } catch (error) {
          onExit(printError(context.output, error));
          await (await import('../ci/reportInCi.ts')).reportErrorInCi(context, error);
        }
      },
  };
}

export function withOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print one JSON object per line (docs/json.md)')
    .option('-q, --quiet', 'print only the result and errors')
    .option('--verbose', 'show stacks and causes of errors');
}
