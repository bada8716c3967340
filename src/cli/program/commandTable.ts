import { CodedError } from '@slipway/contract/codedError';
import { type Command, InvalidArgumentError, Option } from 'commander';

import { parseRetentionAge } from '../../domain/artifact/retention.ts';
import { parseDuration } from '../../domain/duration.ts';
import { inSpan, startTraces } from '../../traces/trace.ts';
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
    const made = withOutputOptions(program.command(name).description(description)).option(
      '--home <dir>',
      'the folder for state (default: SLIPWAY_HOME, or .slipway beside slipway.yaml)',
    );
    return withExamples(made, ...examples);
  };
  const runner =
    (isTraced: boolean): Runs =>
    (load, ...fixed) =>
    async (...given) => {
      // Commander's last argument is the command, which also knows its parents' options.
      const called = given.at(-1) as Command;
      const options = called.optsWithGlobals<CommonOptions>();
      const context = commandContext(options);
      const { printError } = await import('../ui/errorReport.ts');
      try {
        const loaded = await load();
        const run = () => loaded(context, ...fixed, ...given.slice(0, -2), options);
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

/** The usual ports of what runs on one machine. */
export const PLATFORM_PORT = 4700;
export const DASHBOARD_PORT = 4701;
export const HOOKS_PORT = 4702;
export const TEMPORAL_PORT = 7233;
export const TEMPORAL_UI_PORT = 8233;

/** Parses a duration (`90s`, `5m`) into milliseconds. */
export function durationOption(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined || milliseconds === 0) {
    throw new InvalidArgumentError('Expected a duration such as 90s, 5m or 1h30m.');
  }
  return milliseconds;
}

export function retentionAgeOption(text: string): number {
  const milliseconds = parseRetentionAge(text);
  if (milliseconds === undefined)
    throw new InvalidArgumentError('Expected a duration such as 30d or 12h, 1h at least.');
  return milliseconds;
}

/** Parses a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

export const percentageOption = wholeNumber(0, 100);
/** A port; 0: any free port. */
export const portOption = wholeNumber(0, 65_535);
export const numberOption = wholeNumber(1, 999_999);

export function isolationOption(): Option {
  return new Option(
    '--isolation <how>',
    'run builds and agents in containers, or as processes of the platform (default: containers if an engine answers and has the image)',
  )
    .env('SLIPWAY_ISOLATION')
    .choices(['container', 'process']);
}

export function metricsOption(): Option {
  return new Option('--metrics <host:port>', 'serve metrics for Prometheus there (default: off)').env(
    'SLIPWAY_METRICS_ADDRESS',
  );
}

const FOLLOW_FOR = '1h';

export function timeoutOption(followFor = FOLLOW_FOR): Option {
  return new Option('--timeout <duration>', 'stop following after this long: 90s, 5m, 1h30m')
    .argParser(durationOption)
    .default(durationOption(followFor), followFor);
}

export function configOption(): Option {
  return new Option('--config <file>', 'the file (default: slipway.yaml, here or in a folder above)');
}

export function abortOnInterruptOption(what: 'release' | 'promotion'): Option {
  return new Option(
    '--abort-on-interrupt',
    `Ctrl-C and SIGTERM ask the ${what} to abort (default: it continues)`,
  );
}
