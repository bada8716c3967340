import { meantWord, nearestWord } from '../config/nearestWord.ts';
import { parseDuration } from '../domain/duration.ts';
import { SlipwayError } from '../domain/errors.ts';
import { freezeProblem, parseFreezeMoment } from '../domain/freeze/freeze.ts';
import { type Beginning, type Injection, INJECTION_FORMS, type When } from '../domain/rehearsal/injection.ts';

interface KnownNames {
  readonly checks: readonly string[];
  readonly targets: readonly string[];
}

/**
 * Reads injections, one sentence per line; `#` starts a comment. `place`: the file, for errors.
 * @throws SlipwayError SLIPWAY_USAGE with the line, the column, and what was expected.
 */
export function readInjections(text: string, place: string, known: KnownNames): readonly Injection[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const sentence = new Sentence(line, `${place}:${index + 1}`);
    return sentence.isEmpty ? [] : [readInjection(sentence, known)];
  });
}

function readInjection(sentence: Sentence, known: KnownNames): Injection {
  const text = sentence.text;
  const first = sentence.word('an injection');
  const injection = ((): DistributiveOmit<Injection, 'text'> => {
    switch (first.text) {
      case 'check': {
        const check = sentence.name('a check', known.checks);
        const how = sentence.oneOf('fails', 'errs');
        const target = optionalTarget(sentence, 'on', known);
        return { kind: 'check', check, how, target, when: readWhen(sentence) };
      }
      case 'control': {
        sentence.oneOf('plane');
        const target = optionalTarget(sentence, 'of', known);
        sentence.oneOf('is');
        sentence.oneOf('down');
        return { kind: 'control_plane', target, when: readWhen(sentence) };
      }
      case 'build': {
        sentence.oneOf('fails');
        const target = optionalTarget(sentence, 'on', known);
        return { kind: 'build', target, when: readWhen(sentence) };
      }
      case 'judge': {
        const said = sentence.oneOf('passes', 'fails', 'errs', 'is');
        if (said === 'is') sentence.oneOf('inconclusive');
        return { kind: 'judge', verdict: VERDICTS[said], when: readWhen(sentence) };
      }
      case 'release': {
        sentence.oneOf('on');
        const target = sentence.name('a target', known.targets);
        sentence.oneOf('at');
        return { kind: 'release', target, when: readTimes(sentence, 'at') };
      }
      case 'nobody':
        sentence.oneOf('approves');
        return { kind: 'approval', says: null };
      default: {
        const next = sentence.peek();
        if (next !== 'approves' && next !== 'rejects') throw sentence.wrong(first, whatIsMeant(first.text));
        sentence.oneOf(next);
        const what = next === 'approves' ? 'approve' : 'reject';
        if (sentence.isAtEnd) return { kind: 'approval', says: { who: first.text, what, afterMs: 0 } };
        sentence.oneOf('after');
        return { kind: 'approval', says: { who: first.text, what, afterMs: readDuration(sentence) } };
      }
    }
  })();
  sentence.end();
  return { ...injection, text };
}

type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;

const VERDICTS = { passes: 'passed', fails: 'failed', errs: 'errored', is: 'inconclusive' } as const;
const FIRST_WORDS = ['check', 'control', 'build', 'judge', 'release', 'nobody'];

function whatIsMeant(word: string): string {
  const near = nearestWord(word, FIRST_WORDS);
  return near === undefined
    ? `expected one of:\n  ${INJECTION_FORMS.join('\n  ')}`
    : `did you mean "${near}"?`;
}

function optionalTarget(sentence: Sentence, preposition: string, { targets }: KnownNames): string | null {
  if (sentence.peek() !== preposition) return null;
  sentence.oneOf(preposition);
  return sentence.name('a target', targets);
}

function readWhen(sentence: Sentence): When {
  return sentence.isAtEnd ? { kind: 'always' } : readTimes(sentence, sentence.oneOf('at', 'from'));
}

/** `at TIME`, `from TIME`, `from TIME to TIME`: a duration, with what it counts from, or a moment. */
function readTimes(sentence: Sentence, how: 'at' | 'from'): When {
  const begins = readTime(sentence);
  const hasEnd = how === 'from' && sentence.peek() === 'to';
  if (hasEnd) sentence.oneOf('to');
  const endsAt = sentence.here;
  const ends = hasEnd ? readTime(sentence) : null;
  const once = how === 'at';
  if (typeof begins === 'string') {
    if (ends !== null && typeof ends !== 'string') throw sentence.wrong(endsAt, OF_ONE_KIND);
    const problem = ends === null ? undefined : freezeProblem({ from: begins, until: ends });
    if (problem !== undefined) throw sentence.wrong(endsAt, problem.message);
    return { kind: 'clock', from: begins, until: ends, once };
  }
  if (typeof ends === 'string') throw sentence.wrong(endsAt, OF_ONE_KIND);
  if (ends !== null && ends <= begins) throw sentence.wrong(endsAt, 'expected a time after the first');
  return { kind: 'since', of: readBeginning(sentence), from: begins, until: ends, once };
}

const OF_ONE_KIND = 'expected two durations, or two moments of one kind';

/** A duration in milliseconds, or a moment as written. */
function readTime(sentence: Sentence): number | string {
  const word = sentence.word('a time');
  const duration = parseDuration(word.text);
  if (duration !== undefined) return duration;
  if (parseFreezeMoment(word.text) !== undefined && !/^\d{4}-/.test(word.text)) return word.text;
  const next = sentence.peek();
  const both = next === undefined ? word.text : `${word.text} ${next}`;
  if (next !== undefined && parseFreezeMoment(both) !== undefined) {
    sentence.word('a time');
    return both;
  }
  if (parseFreezeMoment(word.text) !== undefined) return word.text;
  throw sentence.wrong(word, 'expected a time such as 3h, "22:00", "Tue 22:00" or "2026-12-23 18:00"');
}

function readDuration(sentence: Sentence): number {
  const word = sentence.word('a duration');
  const duration = parseDuration(word.text);
  if (duration === undefined) throw sentence.wrong(word, 'expected a duration such as 90s, 5m or 1h30m');
  return duration;
}

function readBeginning(sentence: Sentence): Beginning {
  if (sentence.isAtEnd) return 'rehearsal';
  sentence.oneOf('of', 'into');
  if (sentence.peek() === 'the') sentence.oneOf('the');
  return sentence.oneOf('soak', 'bake', 'rehearsal');
}

/** One word of a sentence, without its quotes. */
interface Word {
  readonly text: string;
  /** From 1. */
  readonly column: number;
}

/** A sentence that is read word by word. A quoted text is one word. A `#` before a word ends the sentence. */
class Sentence {
  readonly #words: readonly Word[];
  readonly #place: string;
  readonly #endColumn: number;
  #next = 0;
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

  get here(): Word {
    return this.#words[this.#next] ?? { text: '', column: this.#endColumn };
  }

  /** The next word, without consuming it; `undefined` at the end. */
  peek(): string | undefined {
    return this.#words[this.#next]?.text;
  }

  /** The next word. @param what - its meaning, for errors. */
  word(what: string): Word {
    const word = this.#words[this.#next];
    if (word === undefined) throw this.wrong(this.here, `expected ${what}`);
    this.#next += 1;
    return word;
  }

  oneOf<Expected extends string>(...expected: readonly Expected[]): Expected {
    const word = this.word(list(expected));
    const found = expected.find((candidate) => candidate === word.text);
    if (found !== undefined) return found;
    const near = nearestWord(word.text, expected);
    throw this.wrong(word, near === undefined ? `expected ${list(expected)}` : `did you mean "${near}"?`);
  }

  /** The next word, which must be a known name. */
  name(what: string, known: readonly string[]): string {
    const word = this.word(what);
    if (known.includes(word.text)) return word.text;
    throw this.wrong(word, `${what} that slipway.yaml does not have; ${meantWord(word.text, known)}`);
  }

  /** @throws if words are left. */
  end(): void {
    if (!this.isAtEnd) throw this.wrong(this.here, 'expected the end of the sentence');
  }

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
