/** How parts of a line are set off from the rest. Plain text where colors are not wanted. */
export interface Style {
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

/** The styles with colors, or without. */
export function styleOf(colored: boolean): Style {
  const paint =
    (open: number, close: number) =>
    (text: string): string =>
      colored ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    good: paint(32, 39),
    bad: paint(31, 39),
    warn: paint(33, 39),
    strong: paint(1, 22),
    faint: paint(2, 22),
  };
}

/** The marks at the beginning of a line. */
export const MARKS = { done: '✔', failed: '✖', running: '…', skipped: '-', warning: '!' } as const;
