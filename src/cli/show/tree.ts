/** A branch of a tree: its line, and what hangs on it. */
export interface Branch {
  readonly line: string;
  readonly below?: readonly string[];
}

/** Draws branches, one below the other. */
export function treeLines(branches: readonly Branch[]): readonly string[] {
  return branches.flatMap(({ line, below = [] }, index) => {
    const isLast = index === branches.length - 1;
    return [`${isLast ? '└─' : '├─'} ${line}`, ...below.map((more) => `${isLast ? '  ' : '│ '}   ${more}`)];
  });
}
