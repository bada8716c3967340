import { PlatformError } from '../errors.ts';

/** What one build may use. A source that needs more fails with a reason that names the limit and its setting. */
export interface BuildLimits {
  /** Entries of the archive. */
  readonly entries: number;
  /** All files of the archive together, unpacked, in bytes. */
  readonly unpackedBytes: number;
  /** How long the install command, and the build command, may each take, in ms. */
  readonly commandTimeoutMs: number;
  /** How long the whole build may take, in ms. */
  readonly buildTimeoutMs: number;
  /** What the processes of a command may hold in memory together, in bytes (`resourceWatch.ts`). */
  readonly memoryBytes: number;
  /** What the workspace may take on the disk, in bytes. */
  readonly workspaceBytes: number;
  /** Files and directories of the workspace. */
  readonly workspaceFiles: number;
  /** Lines of log. */
  readonly logLines: number;
  /** Characters of one line of log. */
  readonly logLineChars: number;
}

/**
 * 100,000 entries, 2 GiB unpacked; 15 minutes a command, 30 minutes in all, 4 GiB of memory; a workspace of 10 GiB and
 * 500,000 files; 20,000 lines of 2,000 characters.
 */
export const DEFAULT_BUILD_LIMITS: BuildLimits = {
  entries: 100_000,
  unpackedBytes: 2 * 1024 ** 3,
  commandTimeoutMs: 15 * 60_000,
  buildTimeoutMs: 30 * 60_000,
  memoryBytes: 4 * 1024 ** 3,
  workspaceBytes: 10 * 1024 ** 3,
  workspaceFiles: 500_000,
  logLines: 20_000,
  logLineChars: 2_000,
};

/** The environment variables of the platform that set limits, and how much of the limit's own unit one of theirs is. */
export const BUILD_LIMIT_SETTINGS = {
  commandTimeoutMs: { name: 'SLIPWAY_BUILD_COMMAND_TIMEOUT_SECONDS', unit: 1000 },
  buildTimeoutMs: { name: 'SLIPWAY_BUILD_TIMEOUT_SECONDS', unit: 1000 },
  memoryBytes: { name: 'SLIPWAY_BUILD_MEMORY_MB', unit: 1024 ** 2 },
  workspaceBytes: { name: 'SLIPWAY_BUILD_DISK_MB', unit: 1024 ** 2 },
  workspaceFiles: { name: 'SLIPWAY_BUILD_FILES', unit: 1 },
} as const satisfies Partial<Record<keyof BuildLimits, { name: string; unit: number }>>;

/**
 * The limits that the platform's environment sets; the defaults where it sets none.
 * @throws PlatformError USAGE where a setting is no whole number from 1 to 999999.
 */
export function buildLimitsFrom(environment: NodeJS.ProcessEnv): BuildLimits {
  const set = Object.entries(BUILD_LIMIT_SETTINGS).flatMap(([limit, { name, unit }]) => {
    const value = environment[name];
    if (value === undefined || value === '') return [];
    if (!/^[1-9]\d{0,5}$/.test(value)) {
      throw new PlatformError(
        'SLIPWAY_USAGE',
        `${name} is ${JSON.stringify(value)}, not a whole number from 1 to 999999.`,
        {
          hint: `Correct ${name} in the environment of the platform, or remove it.`,
        },
      );
    }
    return [[limit, Number(value) * unit]];
  });
  return { ...DEFAULT_BUILD_LIMITS, ...(Object.fromEntries(set) as Partial<BuildLimits>) };
}
