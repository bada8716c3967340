import type { Output } from '../output.ts';
import { fitLine } from './progressLines.ts';

const REFRESH_MS = 250;
const CLEAR_LINE = '\r\u001b[2K';

/**
 * The last line on a terminal, rewritten in place while something runs. Where lines cannot be rewritten it is said
 * every half minute instead, so that a CI log shows that something goes on.
 */
export class LiveLine {
  readonly #output: Output;
  #render: (() => string) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows a line, made anew at each refresh. */
  show(render: () => string): void {
    this.#render = render;
    this.#draw();
    this.#timer ??= setInterval(() => this.#tick(), this.#output.live ? REFRESH_MS : PLAIN_EVERY_MS);
    this.#timer.unref();
  }

  /** Takes the line away. */
  hide(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#render !== undefined && this.#output.live) this.#output.raw(CLEAR_LINE);
    this.#render = undefined;
  }

  /** Says a line that stays, above the one that is rewritten. */
  say(line: string): void {
    if (this.#render !== undefined && this.#output.live) this.#output.raw(CLEAR_LINE);
    this.#output.tell(line);
    this.#draw();
  }

  #tick(): void {
    if (this.#output.live) this.#draw();
    else if (this.#render !== undefined) this.#output.tell(this.#render());
  }

  #draw(): void {
    if (this.#render === undefined || !this.#output.live) return;
    this.#output.raw(`${CLEAR_LINE}${fitLine(this.#render(), this.#output.columns() - 1)}`);
  }
}

const PLAIN_EVERY_MS = 30_000;
