import type { TemporalConnection } from '../temporal/client/connection.ts';

export interface ReadContext {
  readonly temporal: TemporalConnection;
  /** The folder with the state of this machine's `slipway dev`. */
  readonly home: string;
  /** Resolves references to keys: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}
