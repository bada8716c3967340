import { resolve } from 'node:path';

import { slipwayHome } from '../config/home.ts';
import type { Machine } from '../inspection/deployment/deploymentAccess.ts';
import { createOutput, type Output } from './output.ts';

export interface CommandContext extends Machine {
  readonly output: Output;
}

export interface CommonOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
  /** Default: `SLIPWAY_HOME`, else `.slipway`. */
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

export function commandContext(options: CommonOptions): CommandContext {
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
    home: options.home === undefined ? slipwayHome(environment) : resolve(options.home),
    environment,
  };
}
