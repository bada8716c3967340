export interface System {
  readonly name: string;
  /** The folder with its `peer.ts`. */
  readonly folder: 'bare' | 'slipway' | 'temporal' | 'dbos' | 'restate';
  /** The argument of its `createPeer`. */
  readonly variant?: string;
}

/** The script without an engine: the reference for all others. */
export const BARE: System = { name: 'bare', folder: 'bare' };

export const SYSTEMS: readonly System[] = [
  BARE,
  { name: 'slipway', folder: 'slipway' },
  { name: 'temporal', folder: 'temporal', variant: 'plain' },
  { name: 'temporal-tuned', folder: 'temporal', variant: 'tuned' },
  { name: 'temporal-local', folder: 'temporal', variant: 'local' },
  { name: 'dbos', folder: 'dbos' },
  { name: 'restate', folder: 'restate' },
];
