/**
 * Why a source could not be built. `message` is the reason, for the source's owner. It stays inside the builder,
 * which reports it as a result.
 */
export class BuildFailure extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BuildFailure';
  }
}

/** Formats a name from a source for a reason: quoted, control characters escaped, cut if too long. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

/** Matches the output of a write that failed because the disk or the quota is full. */
const DISK_FULL_TEXT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i;

/** The lines of a command's output that explain its failure. */
export interface FailureLines {
  add(line: string): void;
  /** The first relevant lines, `…` for omitted ones, and the last lines. */
  shown(): readonly string[];
  readonly tellOfFullDisk: boolean;
}

const LAST_LINES = 10;
/** npm's error code, and its first sentence about the error. */
const FIRST_LINES_OF_NPM = 2;

const OF_NPM = /^npm (?:error|ERR!)/;
/** npm's lines that are the same for every failure, or name a file that only the platform can read. */
const SAYS_NOTHING =
  /^npm (?:error|ERR!)(?: 404)?\s*(?:$|A complete log of this run|For a full report see|Note that you can also install from|tarball, folder, http url|\S*[\\/]_logs[\\/])/;
/** npm prints the whole help text if a command is used incorrectly. */
const HELP_BEGINS = /^npm (?:error|ERR!) (?:Clean install a project|Usage:)/;
const HELP_ENDS = /^npm (?:error|ERR!) Run "npm help/;

/** Collects the relevant lines of one command; keeps only a few, whatever their number. */
export function createFailureLines(): FailureLines {
  const first: string[] = [];
  const last: string[] = [];
  let firstOfNpm = 0;
  let inHelp = false;
  let leftOut = false;
  let tellOfFullDisk = false;

  const leaves = (line: string): void => {
    const isDiskFull = DISK_FULL_TEXT.test(line) && !first.some((kept) => DISK_FULL_TEXT.test(kept));
    const isFirstOfNpm = OF_NPM.test(line) && ++firstOfNpm <= FIRST_LINES_OF_NPM;
    if (isDiskFull || isFirstOfNpm) first.push(line);
    else leftOut = true;
  };

  return {
    add: (line) => {
      if (HELP_BEGINS.test(line)) inHelp = true;
      const saysNothing = SAYS_NOTHING.test(line) || (inHelp && OF_NPM.test(line));
      if (HELP_ENDS.test(line)) inHelp = false;
      if (saysNothing) return;
      tellOfFullDisk ||= DISK_FULL_TEXT.test(line);
      last.push(line);
      if (last.length > LAST_LINES) leaves(last.shift() ?? '');
    },
    shown: () => [...first, ...(leftOut ? ['…'] : []), ...last],
    get tellOfFullDisk() {
      return tellOfFullDisk;
    },
  };
}
