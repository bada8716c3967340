import { existsSync, readFileSync } from 'node:fs';

import { Command } from 'commander';

import { commandTable } from './commandTable.ts';
import { addMachineCommands } from './machineCommands.ts';
import { addMessageCommands } from './messageCommands.ts';
import { addPromotionCommands } from './promotionCommands.ts';
import { addLookCommands, addReleaseCommands, addSourceCommands } from './releaseCommands.ts';

interface ProgramOptions {
  readonly version: string;
  /** The build info file, for `--version`. Default: it prints only the version. */
  readonly buildInfo?: URL;
  readonly onExit: (exitCode: number) => void;
}

/** The command line. Each command's code is loaded when it runs, so that `--help` does not load the worker. */
export function buildProgram({ version, buildInfo, onExit }: ProgramOptions): Command {
  const program = new Command('slipway')
    .description('Releases agents, and rolls them back.')
    .version(buildInfo === undefined ? version : versionText(version, buildInfo))
    .exitOverride()
    // The caller reports usage errors like all other errors. Subcommands inherit this and the exit override.
    .configureOutput({ outputError: () => undefined })
    .hook('preAction', (_, command) => refuseEmpty(command))
    .addHelpText('after', EXIT_CODES);
  const table = commandTable(program, version, onExit);
  program.commandsGroup('Release, roll back, inspect:');
  addReleaseCommands(table);
  addSourceCommands(table);
  addLookCommands(table);
  addPromotionCommands(table);
  program.commandsGroup('Control a target or its running release:');
  addMessageCommands(table);
  program.commandsGroup('Run on this machine:');
  addMachineCommands(table);
  program.helpCommand('help [command]', 'Show the help of a command');
  unsetEmptyVariables(program);
  return program;
}

/** An empty variable of an option counts as not set: a job or a container file passes on what nobody has set. */
function unsetEmptyVariables({ options, commands }: Command): void {
  for (const { envVar } of options)
    if (envVar !== undefined && process.env[envVar] === '') Reflect.deleteProperty(process.env, envVar);
  commands.forEach(unsetEmptyVariables);
}

/**
 * Rejects empty values: `rollback --to "$GOOD"` with a variable that is not set must not roll back to another revision.
 * A reason may be empty, because it decides nothing; so may the words of a list, which `completion` completes.
 */
function refuseEmpty(command: Command): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const values: unknown[] = [command.getOptionValue(name)].flat();
    const isEmpty = command.getOptionValueSource(name) === 'cli' && values.includes('');
    if (isEmpty && name !== 'reason') command.error(`error: option '${option.flags}' has an empty value`);
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    const isEmpty = !argument.variadic && command.args[index] === '';
    if (isEmpty) command.error(`error: argument '${argument.name()}' is empty`);
  }
}

const EXIT_CODES = `
Exit codes:
  0  the command succeeded
  1  the command line or slipway.yaml is not valid
  2  the release failed, and the previous revision serves
  3  a person is needed: the rollback failed, or the outcome is unknown
  4  aborted, rejected or superseded
  5  the command stopped waiting; the release continues
  6  Temporal, its worker or the control plane could not be reached; nothing was started

Start here: slipway demo`;

/** Facts about the build, written by `scripts/build/writeBuildInfo.mjs`. */
interface BuildInfo {
  /** `null`: built outside a git checkout. */
  readonly commit: string | null;
  /** The workflow bundle's id. Workers with the same id run the same workflow code. */
  readonly bundle: string;
}

/** The version for people: `0.1.0 (commit …, bundle …)`; without a build info file, only the number. */
export function versionText(version: string, place: URL): string {
  if (!existsSync(place)) return version;
  const { commit, bundle } = JSON.parse(readFileSync(place, 'utf8')) as BuildInfo;
  return `${version} (${commit === null ? '' : `commit ${commit}, `}bundle ${bundle})`;
}
