import { readFileSync } from 'node:fs';

import { type Command, CommanderError } from 'commander';

import { SlipwayError } from '../domain/errors.ts';
import { type CommonOptions, reportContext, type ReportContext } from './context.ts';
import { buildProgram } from './program/program.ts';
import { printError } from './ui/errorReport.ts';

/** The exit code that a shell reports for SIGPIPE. Node ignores that signal. */
const READER_GONE = 141;
/** The exit code that a shell reports for SIGHUP. */
const HUNG_UP = 129;

// The reader of our output has closed it, as `head` does. Started releases continue.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // stderr may still work, so the error is not printed as JSON.
  const { output } = reportContext({ verbose: process.argv.includes('--verbose') });
  process.exit(error.code === 'EPIPE' ? READER_GONE : printError(output, error));
});
// A stderr that is closed or full must not end a command.
process.stderr.on('error', () => undefined);
// The terminal was closed. Without a listener, the signal ends the process without its listeners of `exit`.
process.on('SIGHUP', () => process.exit(HUNG_UP));
void main(process.argv);

async function main(argv: readonly string[]): Promise<void> {
  const program = buildProgram({
    version: version(),
    buildInfo: new URL('../build.json', import.meta.url),
    onExit: (code) => (process.exitCode = code),
  });
  // If the command line is invalid, commander throws before any command has its options.
  const fallback: CommonOptions = { json: argv.includes('--json'), verbose: argv.includes('--verbose') };
  try {
    const words = argv.slice(2);
    const unknown = unknownCommand(program, words[0] === 'help' ? words.slice(1) : words);
    // Commander answers "help NAME" and "NAME --help" of an unknown command with other help, and the name alone with an error.
    await program.parseAsync(unknown ?? words, { from: 'user' });
  } catch (error) {
    process.exitCode = await endWith(reportContext(fallback), error, commandNamed(program, argv.slice(2)));
  }
}

/** @param command - the words of the called command. */
async function endWith(context: ReportContext, error: unknown, command: string): Promise<number> {
  const { output } = context;
  if (!(error instanceof CommanderError)) return printError(output, error);
  // Commander has printed the help or the version.
  if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode;
  const [first = '', ...more] = error.message.replace(/^error: (?:command-argument value )?/, '').split('\n');
  const suggestion = more.map((line) => line.replace(/^\(|\)$/g, '')).join(' ');
  const refused = new SlipwayError('SLIPWAY_USAGE', first.replace(/\.$/, ''), {
    hint: `${suggestion === '' ? '' : `${suggestion} `}See: ${command} --help`,
  });
  const exitCode = printError(output, refused);
  await (await import('./ci/reportInCi.ts')).reportErrorInCi(context, refused);
  return exitCode;
}

/** The words of the innermost command that a command line names: `slipway temporal install`. */
function commandNamed(program: Command, words: readonly string[]): string {
  const [word, ...more] = words;
  const inner = program.commands.find((each) => each.name() === word);
  return inner === undefined ? program.name() : `${program.name()} ${commandNamed(inner, more)}`;
}

/** The words of a command line up to a name that no command has. */
function unknownCommand(program: Command, words: readonly string[]): readonly string[] | undefined {
  const [word, ...more] = words;
  if (word === undefined || /^-|^help$/.test(word) || program.commands.length === 0) return undefined;
  const inner = program.commands.find((each) => each.name() === word);
  const rest = inner === undefined ? [] : unknownCommand(inner, more);
  return rest && [word, ...rest];
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
