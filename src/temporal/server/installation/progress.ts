/** Takes one line of progress, without a line end. */
export type Progress = (line: string) => void;

/** How one way of installing something is run. */
export interface InstallTask {
  /** An empty directory of its own; removed afterwards with all that is left in it. */
  readonly workspace: string;
  /** Where the executable will be, and what it needs beside it may be put. */
  readonly cacheDirectory: string;
  readonly onProgress: Progress;
  readonly env: NodeJS.ProcessEnv;
  /** How long a download may go without a single byte, in milliseconds. */
  readonly stallMs: number;
  readonly signal?: AbortSignal;
}

/** What one way of installing something came to. Why it failed is one sentence without a full stop. */
export type InstallAttempt =
  { readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string };

/** Silence on the screen for longer than this looks like a hang. */
const TELL_EVERY_MS = 15_000;

/**
 * Repeats a line with the elapsed time, every 15 s, until the work ends.
 *
 * @param describe - the line, made anew each time.
 */
export async function repeatWhile<T>(
  onProgress: Progress,
  describe: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  const timer = setInterval(() => {
    onProgress(`${describe()} (${elapsed(Date.now() - startedAt)})`);
  }, TELL_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** A span of milliseconds as people read it: `45 s`, `3 min 05 s`. */
export function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}
