import { type Output, visible } from '../output.ts';

const REFRESH_MS = 250;
/** How often lines that cannot be rewritten are printed, in milliseconds. */
export const PLAIN_EVERY_MS = 30_000;
const CLEAR_TO_END = '\u001b[J';

/** The last lines on a terminal, rewritten while something runs. Elsewhere they are printed every half minute. */
export class LiveLines {
  readonly #output: Output;
  #render: (() => readonly string[]) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  show(render: () => readonly string[]): void {
    this.#render = render;
    this.#draw();
    this.#timer ??= setInterval(() => this.#tick(), this.#output.live ? REFRESH_MS : PLAIN_EVERY_MS);
    this.#timer.unref();
  }

  hide(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#render = undefined;
    this.#clear();
  }

  /** Prints a line that stays, above those that are rewritten. */
  say(line: string): void {
    this.#clear();
    this.#output.info(line);
    this.#draw();
  }

  #tick(): void {
    if (this.#output.live) this.#draw();
    else for (const line of this.#render?.() ?? []) this.#output.info(line);
  }

  #clear(): void {
    if (this.#drawn === 0) return;
    const up = this.#drawn === 1 ? '' : `\u001b[${this.#drawn - 1}A`;
    this.#output.raw(`\r${up}${CLEAR_TO_END}`);
    this.#drawn = 0;
  }

  #draw(): void {
    if (this.#render === undefined || !this.#output.live) return;
    const lines = this.#render();
    this.#clear();
    this.#output.raw(visible(lines.join('\n')));
    this.#drawn = lines.length;
  }
}
