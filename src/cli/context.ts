import { dirname, resolve } from 'node:path';

import { slipwayHome } from '../config/home.ts';
import type { Machine } from '../inspection/deployment/deploymentAccess.ts';
import { createOutput, type Output } from './output.ts';

export interface CommandContext extends Machine {
  readonly output: Output;
}

/** What reports need, also of an error that comes before the folders of a command are known. */
export type ReportContext = Pick<CommandContext, 'output' | 'environment'>;

export interface CommonOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
  /** Default: see {@link slipwayHome}. */
  readonly home?: string;
}

/** The options of commands that read `slipway.yaml`. */
export interface FileOptions {
  readonly config?: string;
}

/** The options of commands that send a message to a target. */
export interface MessageOptions extends FileOptions {
  readonly reason?: string;
}

/**
 * @param file - the `slipway.yaml` that the command line names: the home is beside it. A pipe is in no project's folder.
 * @throws the system's error if the working folder no longer exists.
 */
export function commandContext(options: CommonOptions, file?: string): CommandContext {
  const { home } = options;
  const context = reportContext(options);
  if (home === undefined) {
    const from = file === undefined || file.startsWith('/dev/') ? undefined : dirname(resolve(file));
    return { ...context, home: slipwayHome(context.environment, from) };
  }
  const named = resolve(home);
  return { ...context, home: named, environment: { ...context.environment, SLIPWAY_HOME: named } };
}

export function reportContext(options: CommonOptions): ReportContext {
  const environment = process.env;
  return {
    output: createOutput({
      json: options.json ?? false,
      verbose: options.verbose ?? false,
      quiet: options.quiet ?? false,
      environment,
      stdout: process.stdout,
      stderr: process.stderr,
    }),
    environment,
  };
}
