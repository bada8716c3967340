import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'vitest';

import { installTemporal } from '../../src/temporal/server/installation/installation.ts';
import type { Block } from '../docs/pages.ts';
import { essentialOutput, shownPattern } from '../docs/shownOutput.ts';
import { Process } from './processes.ts';
import { eventually } from './stack.ts';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the pages say that the control plane is; `slipway dev` takes another port where that one is taken. */
const CONTROL_PLANE = 'http://127.0.0.1:4700';
const SAYS_WITHIN_MS = 120_000;
/** What a checkout has only once something was done in it; `.git` is of no use to a copy. */
const MADE: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.slipway', '.temp', 'cache']);

/**
 * A reader of a page, who does as it says: types its commands into a shell, writes its files, and compares the printed
 * output with the shown one. `slipway` is on the PATH by `npm link`, in a folder of the reader's own.
 */
export class Reader {
  /** An empty folder, for what the reader makes. */
  readonly folder: string;
  readonly #home: string;
  readonly #environment: Readonly<Record<string, string>>;
  #cwd: string;
  #controlPlane = CONTROL_PLANE;
  #temporal: string | undefined;
  #dev: Process | undefined;
  /** What printed last. */
  #last: Process | undefined;

  private constructor(home: string, temporalFolder: string) {
    const prefix = join(home, 'prefix');
    this.#home = home;
    this.folder = join(home, 'work');
    this.#cwd = this.folder;
    this.#environment = {
      PATH: [join(prefix, 'bin'), temporalFolder, process.env['PATH']].join(delimiter),
      NO_COLOR: '1',
      npm_config_prefix: prefix,
    };
  }

  /** A reader who has the command: this checkout's. */
  static async begin(): Promise<Reader> {
    const reader = await Reader.#arrive();
    expect(await reader.type(`cd '${ROOT}' && npm link && cd '${reader.folder}'`), reader.printed).toBe(0);
    return reader;
  }

  /** A reader who stands in a checkout of their own, in which nothing was installed or built. */
  static async beginInCheckout(): Promise<Reader> {
    const reader = await Reader.#arrive();
    const checkout = join(reader.#home, 'slipway');
    await cp(ROOT, checkout, { recursive: true, filter: (path) => !MADE.has(basename(path)) });
    reader.#cwd = checkout;
    return reader;
  }

  static async #arrive(): Promise<Reader> {
    const home = await mkdtemp(join(tmpdir(), 'slipway-reader-'));
    await mkdir(join(home, 'prefix', 'lib'), { recursive: true });
    await mkdir(join(home, 'work'));
    const temporal = await installTemporal({ onProgress: () => undefined });
    return new Reader(home, dirname(temporal.path));
  }

  /** Does what a block says. */
  async follow({ language, title, text }: Block): Promise<void> {
    if (language === 'text') {
      await this.#compare(text);
    } else if (language !== 'sh') {
      await writeFile(join(this.#cwd, title), this.#here(text));
    } else if (title === 'other terminal') {
      this.#dev = this.#last = this.#shell(`exec ${text}`);
    } else {
      await this.type(text);
    }
  }

  /** Types commands; the shell is then where they have gone to. Answers the exit code of the last one. */
  async type(commands: string): Promise<number | null> {
    const cwd = join(this.#home, 'cwd');
    this.#last = this.#shell(`${this.#here(commands)}\ncode=$?\npwd > '${cwd}'\nexit $code`);
    const code = await this.#last.exited;
    this.#cwd = (await readFile(cwd, 'utf8')).trim();
    return code;
  }

  /** Types a command that goes on until it is interrupted, once it has said what is wanted. */
  async typeUntil(command: string, wanted: RegExp): Promise<void> {
    const running = this.#shell(`exec ${this.#here(command)}`);
    await eventually(() => expect(running.stdout).toMatch(wanted), SAYS_WITHIN_MS);
    await running.stop();
  }

  /** What was printed last. */
  get printed(): string {
    return this.#last?.stdout ?? '';
  }

  /** Ctrl-C in the other terminal. */
  async interrupt(): Promise<number | null | undefined> {
    return this.#dev?.stop();
  }

  async leave(): Promise<void> {
    await this.#dev?.kill();
    await rm(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }

  async #compare(shown: string): Promise<void> {
    const compare = (): void => {
      expect(essentialOutput(this.printed)).toMatch(shownPattern(shown));
    };
    const dev = this.#dev;
    if (dev === undefined || dev !== this.#last) {
      compare();
      return;
    }
    // What has ended says no more.
    await Promise.race([eventually(compare, SAYS_WITHIN_MS), dev.exited.then(compare)]);
    this.#controlPlane = /control plane +(\S+)/.exec(this.printed)?.[1] ?? CONTROL_PLANE;
    this.#temporal = /Temporal +(\S+)/.exec(this.printed)?.[1];
  }

  /** The control plane has the address that `slipway dev` said. */
  #here(text: string): string {
    return text.replaceAll(CONTROL_PLANE, this.#controlPlane);
  }

  #shell(commands: string): Process {
    // If the usual port was taken, Temporal's own command needs the other one.
    const env = {
      ...this.#environment,
      ...(this.#temporal === undefined ? {} : { TEMPORAL_ADDRESS: this.#temporal }),
    };
    return new Process('bash', ['-c', `exec 2>&1\n${commands}`], { env, cwd: this.#cwd });
  }
}
