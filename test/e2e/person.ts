import { join } from 'node:path';

import type { CommandContext } from '../../src/cli/context.ts';
import { SlipwayError } from '../../src/domain/errors.ts';
import { testOutput } from '../cli/testOutput.ts';
import type { Project } from './project.ts';
import { eventually, type Stack } from './stack.ts';

type Event = Readonly<Record<string, unknown>>;
type Command = (context: CommandContext, config: string) => Promise<number> | Promise<void>;

/** A running command: its events so far, and its exit code. */
export class Said {
  readonly code: Promise<number>;
  readonly events: Event[];
  error: SlipwayError | undefined;

  constructor(command: Command, context: CommandContext & { output: { events: Event[] } }, config: string) {
    this.events = context.output.events;
    this.code = exitCodeOf(command(context, config)).catch((error: unknown) => {
      if (!(error instanceof SlipwayError)) throw error;
      this.error = error;
      return error.exitCode;
    });
  }

  async event(wanted: (event: Event) => boolean): Promise<Event> {
    return eventually(() => {
      const found = this.events.find(wanted);
      if (found === undefined) throw new Error(`no such event yet:\n${JSON.stringify(this.events, null, 1)}`);
      return found;
    });
  }

  async text(): Promise<string> {
    await this.code;
    return `${JSON.stringify(this.events)} ${this.error?.code ?? ''} ${this.error?.message ?? ''}`;
  }
}

async function exitCodeOf(ended: ReturnType<Command>): Promise<number> {
  const exitCode = await ended;
  return typeof exitCode === 'number' ? exitCode : 0;
}

/** A person who runs commands in this process, because starting one is most of a command's cost. */
export class Person {
  readonly #stack: Stack;
  readonly #project: Project;
  readonly #who: string;

  constructor(stack: Stack, project: Project, who: string) {
    this.#stack = stack;
    this.#project = project;
    this.#who = who;
  }

  /** Starts a command that prints events. */
  says(command: Command): Said {
    const { env } = this.#stack;
    const environment = { ...env, GITHUB_ACTIONS: 'true', GITHUB_ACTOR: this.#who };
    const output = testOutput({ json: true });
    const context = { output, home: env['SLIPWAY_HOME']!, environment };
    return new Said(command, context, join(this.#project.folder, 'slipway.yaml'));
  }

  async did(command: Command): Promise<{ readonly code: number; readonly text: string }> {
    const said = this.says(command);
    return { code: await said.code, text: await said.text() };
  }
}
