export type Style = ReturnType<typeof styleOf>;

export function styleOf(colored: boolean) {
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

export const MARKS = { done: '✔', failed: '✖', running: '…', skipped: '-', warning: '!' } as const;
