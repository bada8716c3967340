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

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The control plane's address in the pages. `slipway dev` uses another port if this one is taken. */
const CONTROL_PLANE = 'http://127.0.0.1:4700';
const SAYS_WITHIN_MS = 120_000;
/** Files that a fresh checkout does not have, and `.git`, which a copy does not need. */
const MADE: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.slipway', '.temp', 'cache']);

/** A reader who follows a page: types its commands, writes its files, and compares the output with the shown one. */
export class Reader {
  /** An empty folder for the reader's files. */
  readonly folder: string;
  readonly #home: string;
  readonly #environment: Readonly<Record<string, string>>;
  #cwd: string;
  #controlPlane = CONTROL_PLANE;
  #temporal: string | undefined;
  #dev: Process | undefined;
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

  static async begin(): Promise<Reader> {
    const reader = await Reader.#arrive();
    expect(await reader.type(`cd '${ROOT}' && npm link && cd '${reader.folder}'`), reader.printed).toBe(0);
    return reader;
  }

  /** A reader in their own checkout, in which nothing is installed or built. */
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

  /** Types commands; their `cd` applies to later ones. Returns the exit code of the last one. */
  async type(commands: string): Promise<number | null> {
    const cwd = join(this.#home, 'cwd');
    this.#last = this.#shell(`${this.#here(commands)}\ncode=$?\npwd > '${cwd}'\nexit $code`);
    const code = await this.#last.exited;
    this.#cwd = (await readFile(cwd, 'utf8')).trim();
    return code;
  }

  /** Types a command that runs until interrupted, and interrupts it once it has printed the wanted text. */
  async typeUntil(command: string, wanted: RegExp): Promise<void> {
    const running = this.#shell(`exec ${this.#here(command)}`);
    await eventually(() => expect(running.stdout).toMatch(wanted), SAYS_WITHIN_MS);
    await running.stop();
  }

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
      expect(essentialOutput(this.printed), this.#dev?.stdout).toMatch(shownPattern(shown));
    };
    const dev = this.#dev;
    if (dev === undefined || dev !== this.#last) {
      compare();
      return;
    }
    // An ended process prints nothing more.
    await Promise.race([eventually(compare, SAYS_WITHIN_MS), dev.exited.then(compare)]);
    this.#controlPlane = /control plane +(\S+)/.exec(this.printed)?.[1] ?? CONTROL_PLANE;
    this.#temporal = /Temporal +(\S+)/.exec(this.printed)?.[1];
  }

  /** Replaces the control plane's address by the one that `slipway dev` printed. */
  #here(text: string): string {
    return text.replaceAll(CONTROL_PLANE, this.#controlPlane);
  }

  #shell(commands: string): Process {
    // If Temporal's default port was taken, its CLI needs the other one.
    const env = {
      ...this.#environment,
      ...(this.#temporal === undefined ? {} : { TEMPORAL_ADDRESS: this.#temporal }),
    };
    return new Process('bash', ['-c', `exec 2>&1\n${commands}`], { env, cwd: this.#cwd });
  }
}
