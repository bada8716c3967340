/** A pattern for what {@link essentialOutput} leaves of the output that a page shows. `…` stands for any text. */
export function shownPattern(shown: string): RegExp {
  const lines = essentialOutput(shown.trimEnd())
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}\\n`));
  return new RegExp(`^${lines.join('')}$`);
}

/** An output without what varies: ids, digests, durations, times, sizes, ports, attempts, columns, slow steps. */
export function essentialOutput(output: string): string {
  return DIFFERING.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), output);
}

const DIFFERING: readonly (readonly [RegExp, string])[] = [
  // What the command prints about a step while it takes long, with the lines of a build.
  [/^ {2}… .*\n(?: {2}(?:now| ) .*\n)*/gm, ''],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID'],
  [/\bsha256:[0-9a-f]+/g, 'sha256:ID'],
  [/\b[0-9a-f]{32}\b/g, 'ID'],
  // Outside of a repository there is no commit.
  [/, commit [0-9a-f]{7,40}/g, ''],
  [/\b\d{4}-\d{2}-\d{2}T[\d-]+Z/g, 'MOMENT'],
  [/\b[0-9a-f]{8}\b/g, 'ID'],
  [/\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|s|m)\b/g, 'DURATION'],
  [/\b\d+ (bytes|KB)\b/g, 'SOME $1'],
  [/127\.0\.0\.1(:|%3A)\d+/g, '127.0.0.1$1PORT'],
  [/\b\d+ attempts, /g, ''],
  [/ +/g, ' '],
];

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
