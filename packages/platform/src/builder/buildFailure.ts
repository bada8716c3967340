/** Why a source could not be built, for its owner. The builder reports it as a result. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure';
}

/** Formats a name from a source for a reason: quoted, control characters escaped, cut if too long. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

/** Matches the output of a write that failed because the disk or the quota is full. */
const DISK_FULL_TEXT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i;

/** The lines of a command's output that explain its failure. */
export type FailureLines = ReturnType<typeof createFailureLines>;

const LAST_LINES = 10;
/** npm's error code, and its first sentence about the error. */
const FIRST_LINES_OF_NPM = 2;

const NPM_ERROR_LINE = /^npm (?:error|ERR!)/;
/** npm's lines that are the same for every failure, or name a file that only the platform can read. */
const UNINFORMATIVE_LINE =
  /^npm (?:error|ERR!)(?: 404)?\s*(?:$|A complete log of this run|For a full report see|Note that you can also install from|tarball, folder, http url|\S*[\\/]_logs[\\/])/;
/** npm prints the whole help text if a command is used incorrectly. */
const HELP_START = /^npm (?:error|ERR!) (?:Clean install a project|Usage:)/;
const HELP_END = /^npm (?:error|ERR!) Run "npm help/;

/** Collects the relevant lines of one command; keeps only a few, whatever their number. */
export function createFailureLines() {
  const first: string[] = [];
  const last: string[] = [];
  let firstOfNpm = 0;
  let inHelp = false;
  let hasOmitted = false;
  let hasDiskFullLine = false;

  const dropFromLast = (line: string): void => {
    const isDiskFull = DISK_FULL_TEXT.test(line) && !first.some((kept) => DISK_FULL_TEXT.test(kept));
    const isFirstOfNpm = NPM_ERROR_LINE.test(line) && ++firstOfNpm <= FIRST_LINES_OF_NPM;
    if (isDiskFull || isFirstOfNpm) first.push(line);
    else hasOmitted = true;
  };

  return {
    add: (line: string): void => {
      if (HELP_START.test(line)) inHelp = true;
      const isUninformative = UNINFORMATIVE_LINE.test(line) || (inHelp && NPM_ERROR_LINE.test(line));
      if (HELP_END.test(line)) inHelp = false;
      if (isUninformative) return;
      hasDiskFullLine ||= DISK_FULL_TEXT.test(line);
      last.push(line);
      if (last.length > LAST_LINES) dropFromLast(last.shift() ?? '');
    },
    /** The first relevant lines, `…` for omitted ones, and the last lines. */
    relevantLines: (): readonly string[] => [...first, ...(hasOmitted ? ['…'] : []), ...last],
    get hasDiskFullLine(): boolean {
      return hasDiskFullLine;
    },
  };
}
