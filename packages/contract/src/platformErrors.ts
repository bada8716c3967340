/**
 * The catalogue of all errors of the platform and of agent servers, by stable code; the command and the worker have
 * their own. It is in the contract because the command prints these codes too.
 *
 * `docs/errors.md` has one section per code; a test keeps both catalogues and the page in sync. `exitCode` is a
 * command's exit code if nothing handles the error.
 */
export const PLATFORM_ERRORS = {
  SLIPWAY_USAGE: { exitCode: 1, title: 'The command line is not valid' },
  SLIPWAY_HOME_IN_USE: { exitCode: 1, title: 'Another process uses this home' },
  SLIPWAY_MASTER_KEY_INVALID: { exitCode: 1, title: 'The master key is not 32 bytes long' },
  SLIPWAY_MASTER_KEY_WRONG: { exitCode: 1, title: 'The master key cannot decrypt the stored secrets' },
  SLIPWAY_DATABASE_IN_USE: { exitCode: 1, title: 'Another platform uses the database' },
  SLIPWAY_DATABASE_NEWER: { exitCode: 1, title: 'A newer version of Slipway has changed the database' },
  SLIPWAY_INSTANCE_MISMATCH: { exitCode: 1, title: 'The home and the database do not belong together' },
  SLIPWAY_DATABASE_UNREACHABLE: { exitCode: 6, title: 'The database could not be opened' },
  SLIPWAY_PORT_UNAVAILABLE: { exitCode: 1, title: 'The port cannot be listened on' },
  SLIPWAY_GRAPH_NOT_LOADED: { exitCode: 1, title: 'A graph of the agent could not be loaded' },
  SLIPWAY_AGENT_SETTING_INVALID: { exitCode: 1, title: 'A setting of the agent server is not valid' },
  SLIPWAY_AGENT_OPEN: { exitCode: 1, title: 'The agent would be open to the whole network' },
  SLIPWAY_AGENT_START_FAILED: { exitCode: 6, title: 'The agent did not start' },
} as const satisfies Record<string, { exitCode: number; title: string }>;

/** A stable error code, `SLIPWAY_…`. */
export type PlatformErrorCode = keyof typeof PLATFORM_ERRORS;
