/** Ends a command in a shell if it is outside of quotes. */
const ENDS = /[|&;<>()\n]/;

/** The commands of a script as words, without redirections, comments, and variables set before them. */
export function shellCommands(script: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  for (let at = 0; at < script.length; at++) {
    const character = script.charAt(at);
    if (character === '\\') {
      // A line continuation, else an escaped character.
      const next = script.charAt(++at);
      if (next !== '\n') word = (word ?? '') + next;
    } else if (character === '"' || character === "'") {
      const end = endOfQuotes(script, at);
      word = (word ?? '') + script.slice(at + 1, end).replaceAll('\\"', '"');
      at = end;
    } else if (character === '#' && word === undefined) {
      at = indexOrEnd(script, '\n', at) - 1;
    } else if (ENDS.test(character)) {
      endWord();
      commands.push([]);
    } else if (character === ' ') {
      endWord();
    } else {
      word = (word ?? '') + character;
    }
  }
  endWord();
  return commands.map(withoutVariables).filter((words) => words.length > 0);
}

function endOfQuotes(script: string, start: number): number {
  const quote = script.charAt(start);
  for (let at = start + 1; at < script.length; at++) {
    if (quote === '"' && script.charAt(at) === '\\') at++;
    else if (script.charAt(at) === quote) return at;
  }
  return script.length;
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const found = text.indexOf(wanted, from);
  return found === -1 ? text.length : found;
}

function withoutVariables(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word) => !/^\w+=/.test(word));
  return first === -1 ? [] : words.slice(first);
}
