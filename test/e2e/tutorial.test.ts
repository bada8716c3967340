import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { installTemporal } from '../../src/temporal/installation.ts';
import { type Block, blocksOf, pages } from '../docs/pages.ts';
import { essentialOutput, shownPattern } from '../docs/shownOutput.ts';
import { Process } from './processes.ts';
import { eventually } from './stack.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the page says that the control plane is; `slipway dev` takes another port where that one is taken. */
const CONTROL_PLANE = 'http://127.0.0.1:4700';

const blocks = pages()
  .filter(({ path }) => path === 'tutorial.md')
  .flatMap(({ text }) => blocksOf(text))
  // Installing Slipway itself: what `npm link` leaves behind is there.
  .filter(({ title }) => title !== 'once');

let reader: Reader;
beforeAll(async () => {
  reader = await Reader.begin();
});
afterAll(() => reader.leave());

describe('the tutorial, carried out as it is written, in an empty folder', () => {
  it.each(blocks.map((block) => [nameOf(block), block] as const))('is right: %s', (_, block) =>
    reader.follow(block),
  );

  it('ends with Ctrl-C in the other terminal', async () => {
    expect(await reader.interrupt()).toBe(0);
  });
});

function nameOf({ language, title, text }: Block): string {
  return `${title === '' ? language : title}: ${text.split('\n')[0] ?? ''}`;
}

/** Types the page's commands into a shell, writes its files, and holds what it shows against what was printed. */
class Reader {
  readonly #folder: string;
  readonly #path: string;
  #cwd: string;
  #controlPlane = CONTROL_PLANE;
  #dev: Process | undefined;
  /** What printed last. */
  #last: Process | undefined;

  private constructor(folder: string, path: string) {
    this.#folder = folder;
    this.#path = path;
    this.#cwd = folder;
  }

  static async begin(): Promise<Reader> {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-tutorial-'));
    const manifest = await readFile(join(ROOT, 'package.json'), 'utf8');
    const { bin } = JSON.parse(manifest) as { readonly bin: { readonly slipway: string } };
    await symlink(join(ROOT, bin.slipway), join(folder, 'slipway'));
    const temporal = await installTemporal({ onProgress: () => undefined });
    return new Reader(folder, [folder, dirname(temporal.path), process.env['PATH']].join(delimiter));
  }

  async follow({ language, title, text }: Block): Promise<void> {
    if (language === 'text') {
      await this.#compare(text);
    } else if (language !== 'sh') {
      await writeFile(join(this.#cwd, title), this.#here(text));
    } else if (title === 'other terminal') {
      this.#dev = this.#last = this.#shell(`exec ${text}`);
    } else {
      await this.#type(text);
    }
  }

  async interrupt(): Promise<number | null | undefined> {
    return this.#dev?.stop();
  }

  async leave(): Promise<void> {
    await this.#dev?.kill();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #type(commands: string): Promise<void> {
    const cwd = join(this.#folder, 'cwd');
    this.#last = this.#shell(`${this.#here(commands)}pwd > '${cwd}'`);
    await this.#last.exited;
    this.#cwd = (await readFile(cwd, 'utf8')).trim();
  }

  async #compare(shown: string): Promise<void> {
    const last = this.#last;
    const compare = (): void => {
      expect(essentialOutput(last?.stdout ?? '')).toMatch(shownPattern(shown));
    };
    if (last !== this.#dev) {
      compare();
      return;
    }
    await eventually(compare, 120_000);
    this.#controlPlane = /control plane +(\S+)/.exec(last?.stdout ?? '')?.[1] ?? CONTROL_PLANE;
  }

  /** The control plane has the address that `slipway dev` said. */
  #here(text: string): string {
    return text.replaceAll(CONTROL_PLANE, this.#controlPlane);
  }

  #shell(commands: string): Process {
    const env = { PATH: this.#path, NO_COLOR: '1' };
    return new Process('bash', ['-c', `exec 2>&1\n${commands}`], { env, cwd: this.#cwd });
  }
}
