import { type Command, type CommandEnd, runCommand } from '../runtime/command.ts';

/** A command as a person would type it, and its surroundings. */
export interface ShellCommand extends Omit<Command, 'command'> {
  readonly command: string;
}

/** Runs a shell command: see {@link runCommand}. */
export function runShellCommand(options: ShellCommand): Promise<CommandEnd> {
  return runCommand({ ...options, command: ['/bin/sh', '-c', options.command] });
}
