import { type Command, type CommandEnd, runCommand } from '../runtime/command.ts';

/** A command as a person would type it, and its surroundings. */
export interface ShellCommand extends Omit<Command, 'command'> {
  readonly command: string;
}

/** The agents that serve and the platform go first: what builds takes the processors that they leave. */
const YIELDING = ['nice', '-n', '5'] as const;

/** Runs a shell command, with less priority than this process has: see {@link runCommand}. */
export function runShellCommand(options: ShellCommand): Promise<CommandEnd> {
  return runCommand({ ...options, command: [...YIELDING, '/bin/sh', '-c', options.command] });
}
