/** The usual ports of what runs on one machine, and the options of `slipway dev` that set others. */
export const PORTS = {
  platform: { option: '--port', preferred: 4700 },
  dashboard: { option: '--dashboard-port', preferred: 4701 },
  hooks: { option: '--hooks-port', preferred: 4702 },
  temporal: { option: '--temporal-port', preferred: 7233 },
  temporalUi: { option: '--temporal-ui-port', preferred: 8233 },
} as const;
