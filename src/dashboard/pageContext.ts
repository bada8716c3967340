import type { TemporalConnection } from '../temporal/client/connection.ts';
import type { PageFiles } from './pageFiles.ts';

/** What every page reads from, and is made with. */
export interface PageContext {
  readonly temporal: TemporalConnection;
  /** Where a `slipway dev` of this machine keeps its state. */
  readonly home: string;
  /** Where references to keys lead to: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: PageFiles;
}
