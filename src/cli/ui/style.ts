export type Style = ReturnType<typeof styleOf>;

export function styleOf(colored: boolean) {
  const paint =
    (open: number, close: number) =>
    (text: string): string =>
      colored ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  const [good, bad] = [paint(32, 39), paint(31, 39)];
  return {
    good,
    bad,
    warn: paint(33, 39),
    strong: paint(1, 22),
    faint: paint(2, 22),
    /** The mark of what ended well or badly. */
    mark: (isGood: boolean): string => (isGood ? good(MARKS.done) : bad(MARKS.failed)),
  };
}

export const MARKS = { done: '✔', failed: '✖', running: '…', skipped: '-', warning: '!' } as const;
