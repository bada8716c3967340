import { CodedError } from '@slipway/contract/codedError';
import type { Command } from 'commander';

import { inSpan, startTraces } from '../../traces/trace.ts';
import { type CommandContext, commandContext, type CommonOptions, type FileOptions } from '../context.ts';
import { configOption, homeOption } from './options.ts';

/**
 * Makes a command's action: loads its code, calls it with the context, the arguments and the options, and reports the
 * exit code that it returns, else 0.
 * @param fixed - arguments before those of the command line.
 */
export type Runs = (
  // Commander does not type these arguments.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  load: () => Promise<(context: CommandContext, ...given: any[]) => Promise<number> | Promise<void>>,
  ...fixed: readonly unknown[]
) => (...given: unknown[]) => Promise<void>;

export interface CommandTable {
  readonly program: Command;
  readonly version: string;
  readonly command: (name: string, description: string, ...examples: readonly string[]) => Command;
  /** A command that reads `slipway.yaml`. */
  readonly fileCommand: CommandTable['command'];
  readonly runs: Runs;
  /** The same with a trace of its calls, also in other processes. */
  readonly runsTraced: Runs;
}

/** A table that adds its commands to a program. @param onExit - called with the exit code of the command that ran. */
export function commandTable(
  program: Command,
  version: string,
  onExit: (exitCode: number) => void,
): CommandTable {
  const command: CommandTable['command'] = (name, description, ...examples) => {
    const made = withOutputOptions(program.command(name).description(description)).addOption(homeOption());
    return withExamples(made, ...examples);
  };
  const runner =
    (isTraced: boolean): Runs =>
    (load, ...fixed) =>
    async (...given) => {
      // Commander's last argument is the command, which also knows its parents' options.
      const called = given.at(-1) as Command;
      const options = called.optsWithGlobals<NamingOptions>();
      const context = commandContext(options, fileNamed(called, options));
      const { printError } = await import('../ui/errorReport.ts');
      try {
        const loaded = await load();
        const run = async (): Promise<number> => {
          const exitCode = await loaded(context, ...fixed, ...given.slice(0, -2), options);
          return typeof exitCode === 'number' ? exitCode : 0;
        };
        onExit(await (isTraced ? traced(context, `slipway ${called.name()}`, run) : run()));
      } catch (error) {
        onExit(printError(context.output, error));
        await (await import('../ci/reportInCi.ts')).reportErrorInCi(context, error);
      }
    };
  return {
    program,
    version,
    command,
    fileCommand: (...given) => command(...given).addOption(configOption()),
    runs: runner(false),
    runsTraced: runner(true),
  };
}

interface NamingOptions extends CommonOptions, FileOptions {
  readonly hooks?: string;
}

/** The `slipway.yaml` that a command line names: by `--config`, by `--hooks`, or as the argument of `lint`. */
function fileNamed(
  { registeredArguments, args }: Command,
  { config, hooks }: NamingOptions,
): string | undefined {
  return config ?? hooks ?? args[registeredArguments.findIndex((argument) => argument.name() === 'file')];
}

export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`,
  );
}

export function withOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print one JSON object per line (docs/json.md)')
    .option('-q, --quiet', 'print only the result and errors')
    .option('--verbose', 'show stacks and causes of errors');
}

/** Runs a command in a span of that name, the first of its trace. */
async function traced(
  { environment }: CommandContext,
  name: string,
  run: () => Promise<number>,
): Promise<number> {
  const endTraces = await startTraces(environment, 'slipway');
  try {
    return await inSpan({ name }, async (span) => {
      try {
        const exitCode = await run();
        span.set({ 'slipway.exit_code': exitCode });
        if (exitCode !== 0) span.fail(`exit ${exitCode}`);
        return exitCode;
      } catch (error) {
        span.fail(error instanceof CodedError ? String(error.code) : 'SLIPWAY_INTERNAL');
        throw error;
      }
    });
  } finally {
    await endTraces();
  }
}
