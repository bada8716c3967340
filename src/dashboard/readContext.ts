import type { TemporalConnection } from '../temporal/client/connection.ts';

/** What is read: by watches, and by pages. */
export interface ReadContext {
  readonly temporal: TemporalConnection;
  /** Where a `slipway dev` of this machine keeps its state. */
  readonly home: string;
  /** Where references to keys lead to: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}
