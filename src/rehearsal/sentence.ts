import { nearestWord } from '../config/nearestWord.ts';
import { SlipwayError } from '../domain/errors.ts';

/** One word of a sentence, without its quotes. */
export interface Word {
  readonly text: string;
  /** From 1. */
  readonly column: number;
}

/** A sentence that is read word by word. What is in quotes is one word; a `#` in front of a word ends it. */
export class Sentence {
  readonly #words: readonly Word[];
  readonly #place: string;
  readonly #endColumn: number;
  #next = 0;
  /** The sentence alone. */
  readonly text: string;

  /** @param place - the file and the line, for errors. */
  constructor(line: string, place: string) {
    const end = /(?:^|\s)#/.exec(line)?.index ?? line.length;
    this.text = line.slice(0, end).trim();
    this.#place = place;
    this.#endColumn = line.slice(0, end).trimEnd().length + 1;
    this.#words = [...line.slice(0, end).matchAll(/"([^"]*)"|(\S+)/g)].map((match) => ({
      text: match[1] ?? match[2] ?? '',
      column: match.index + 1,
    }));
  }

  get isEmpty(): boolean {
    return this.#words.length === 0;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#words.length;
  }

  /** Where the next word stands. */
  get here(): Word {
    return this.#words[this.#next] ?? { text: '', column: this.#endColumn };
  }

  /** The next word, left where it is; `undefined` at the end. */
  peek(): string | undefined {
    return this.#words[this.#next]?.text;
  }

  /** The next word. @param what - what it is, for errors. */
  word(what: string): Word {
    const word = this.#words[this.#next];
    if (word === undefined) throw this.wrong(this.here, `expected ${what}`);
    this.#next += 1;
    return word;
  }

  /** The next word, one of these. */
  oneOf<Expected extends string>(...expected: readonly Expected[]): Expected {
    const word = this.word(list(expected));
    const found = expected.find((candidate) => candidate === word.text);
    if (found !== undefined) return found;
    const near = nearestWord(word.text, expected);
    throw this.wrong(word, near === undefined ? `expected ${list(expected)}` : `did you mean "${near}"?`);
  }

  /** The next word, a name that is known. */
  name(what: string, known: readonly string[]): string {
    const word = this.word(what);
    if (known.includes(word.text)) return word.text;
    const near = nearestWord(word.text, known);
    const hint = near === undefined ? `there are: ${known.join(', ')}` : `did you mean "${near}"?`;
    throw this.wrong(word, `${what} that slipway.yaml does not have; ${hint}`);
  }

  /** @throws where words are left over. */
  end(): void {
    if (!this.isAtEnd) throw this.wrong(this.here, 'expected the end of the sentence');
  }

  /** What is thrown for a word that is not right. */
  wrong({ text, column }: Word, why: string): SlipwayError {
    const what = text === '' ? `"${this.text}" ends too early` : `"${text}" is not understood here`;
    return new SlipwayError('SLIPWAY_USAGE', `${what}: ${why}`, {
      place: `${this.#place}:${column}`,
      hint: 'slipway rehearse --help describes these sentences',
    });
  }
}

function list(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' or ');
}
