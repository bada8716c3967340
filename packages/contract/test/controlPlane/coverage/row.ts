/** One row of a table of contract 000, or one of its rules, and the tests that hold it. */
export interface Row {
  /** The section of the contract. */
  readonly section: string;
  /** The row as the contract has it; a row of several fields names each, `min_scale, max_scale`. */
  readonly row: string;
  readonly heldBy: readonly Held[];
}

/** A test that holds a row. */
export interface Held {
  /** Below `packages/`. */
  readonly file: string;
  /** As it stands in the file, so with the `%s` of a test of many cases. */
  readonly title: string;
  /** Of a test of many cases, the word that its table has the row's case by. */
  readonly word?: string;
}

/** A test by its file and title; called with a word, the one of its cases that has it. */
export function inFile(file: string): (title: string) => (word?: string) => Held {
  return (title) => (word) => ({ file, title, word });
}

/** The rows of a section. */
export function section(name: string, rows: readonly (readonly [row: string, ...Held[]])[]): Row[] {
  return rows.map(([row, ...heldBy]) => ({ section: name, row, heldBy }));
}
