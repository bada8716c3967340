/**
 * Why a source could not be built. `message` is the reason, for the person whose source it is. It stays inside
 * the builder, which reports it as a result.
 */
export class BuildFailure extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BuildFailure';
  }
}

/** A name out of a source as a reason shows it: quoted, control characters escaped, not too long. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

/** What a line of output says when a write failed because the disk, or the quota, is full. */
const DISK_FULL_TEXT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i;

/** What a command printed, as far as it says why the command failed. */
export interface FailureLines {
  add(line: string): void;
  /** The first ones that matter, `…` where lines are left out, and the last ones. */
  shown(): readonly string[];
  readonly tellOfFullDisk: boolean;
}

const LAST_LINES = 10;
/** npm's error code, and its first sentence about it. */
const FIRST_LINES_OF_NPM = 2;

const OF_NPM = /^npm (?:error|ERR!)/;
/** Lines of npm that are the same for every failure, or name a file that only the platform can read. */
const SAYS_NOTHING =
  /^npm (?:error|ERR!)(?: 404)?\s*(?:$|A complete log of this run|For a full report see|Note that you can also install from|tarball, folder, http url|\S*[\\/]_logs[\\/])/;
/** npm prints the whole help text of a command that was used wrongly. */
const HELP_BEGINS = /^npm (?:error|ERR!) (?:Clean install a project|Usage:)/;
const HELP_ENDS = /^npm (?:error|ERR!) Run "npm help/;

/** Gathers the lines of one command. Keeps few of them, however many there are. */
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
