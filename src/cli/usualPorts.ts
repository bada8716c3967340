/** The usual ports of what runs on one machine. */
export const PLATFORM_PORT = 4700;
export const DASHBOARD_PORT = 4701;
export const HOOKS_PORT = 4702;
export const TEMPORAL_PORT = 7233;
export const TEMPORAL_UI_PORT = 8233;
