/** What one build may use. A source that needs more fails with a reason that says so. */
export interface BuildLimits {
  /** Entries of the archive. */
  readonly entries: number;
  /** All files of the archive together, unpacked, in bytes. */
  readonly unpackedBytes: number;
  /** How long the install command, and the build command, may each take, in ms. */
  readonly commandTimeoutMs: number;
  /** Lines of log. */
  readonly logLines: number;
  /** Characters of one line of log. */
  readonly logLineChars: number;
}

/** 100,000 entries, 2 GiB, 10 minutes a command, 20,000 lines of 2,000 characters. */
export const DEFAULT_BUILD_LIMITS: BuildLimits = {
  entries: 100_000,
  unpackedBytes: 2 * 1024 ** 3,
  commandTimeoutMs: 10 * 60_000,
  logLines: 20_000,
  logLineChars: 2_000,
};
