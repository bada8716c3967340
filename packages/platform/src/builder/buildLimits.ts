import { invalidVariable } from '../errors.ts';

/** The limits of one build. A source that exceeds one fails with a reason that names the limit and its setting. */
export interface BuildLimits {
  readonly entries: number;
  /** The total size of the unpacked files, in bytes. */
  readonly unpackedBytes: number;
  /** The timeout of the install command and of the build command, each, in ms. */
  readonly commandTimeoutMs: number;
  /** The timeout of the whole build, in ms. */
  readonly buildTimeoutMs: number;
  /** The memory of all processes of a command together, in bytes (`resourceWatch.ts`). */
  readonly memoryBytes: number;
  /** The workspace's size on disk, in bytes. */
  readonly workspaceBytes: number;
  readonly workspaceFiles: number;
  /** At most as many as are kept of a revision (`revisionLogs.ts`), so that a long log keeps its beginning. */
  readonly logLines: number;
  readonly logLineChars: number;
}

export const DEFAULT_BUILD_LIMITS: BuildLimits = {
  entries: 100_000,
  unpackedBytes: 2 * 1024 ** 3,
  commandTimeoutMs: 15 * 60_000,
  buildTimeoutMs: 30 * 60_000,
  memoryBytes: 4 * 1024 ** 3,
  workspaceBytes: 10 * 1024 ** 3,
  workspaceFiles: 500_000,
  logLines: 10_000,
  logLineChars: 2_000,
};

/** The platform's environment variables that set limits. `unit` converts their value to the limit's unit. */
export const BUILD_LIMIT_SETTINGS = {
  commandTimeoutMs: { name: 'SLIPWAY_BUILD_COMMAND_TIMEOUT_SECONDS', unit: 1000 },
  buildTimeoutMs: { name: 'SLIPWAY_BUILD_TIMEOUT_SECONDS', unit: 1000 },
  memoryBytes: { name: 'SLIPWAY_BUILD_MEMORY_MB', unit: 1024 ** 2 },
  workspaceBytes: { name: 'SLIPWAY_BUILD_DISK_MB', unit: 1024 ** 2 },
  workspaceFiles: { name: 'SLIPWAY_BUILD_FILES', unit: 1 },
} as const satisfies Partial<Record<keyof BuildLimits, { name: string; unit: number }>>;

/**
 * The limits from the platform's environment, with defaults.
 * @throws PlatformError USAGE if a setting is no whole number from 1 to 999999.
 */
export function buildLimitsFrom(environment: NodeJS.ProcessEnv): BuildLimits {
  const set = Object.entries(BUILD_LIMIT_SETTINGS).flatMap(([limit, { name, unit }]) => {
    const value = environment[name];
    if (value === undefined || value === '') return [];
    if (!/^[1-9]\d{0,5}$/.test(value)) {
      throw invalidVariable(name, value, 'a whole number from 1 to 999999');
    }
    return [[limit, Number(value) * unit]];
  });
  return { ...DEFAULT_BUILD_LIMITS, ...(Object.fromEntries(set) as Partial<BuildLimits>) };
}
