/** The nearest word of a list: at most two typos away, fewer for short words. */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  const slips = Math.min(2, Math.floor(word.length / 2));
  const ranked = words
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= slips ? best.candidate : undefined;
}

/** Levenshtein distance, by rows. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** A hint for an unknown word: the nearest one, else all of them. */
export function meantWord(word: string, words: readonly string[], otherwise = 'there are'): string {
  const near = nearestWord(word, words);
  return near === undefined ? `${otherwise}: ${words.join(', ')}` : `did you mean "${near}"?`;
}

/** The problem of a name of a target, check or the like that `slipway.yaml` does not have. */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const meant = known.length === 0 ? '' : `; ${meantWord(name, known)}`;
  return `slipway.yaml has no ${what} of that name${meant}`;
}
