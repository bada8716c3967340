import type { TemporalConnection } from '../temporal/client/connection.ts';
import type { LiveRooms } from './live/liveRooms.ts';
import type { TargetWatches } from './live/targetWatches.ts';
import type { PageFiles } from './pageFiles.ts';

/** What is read: by watches, and by pages. */
export interface ReadContext {
  readonly temporal: TemporalConnection;
  /** Where a `slipway dev` of this machine keeps its state. */
  readonly home: string;
  /** Where references to keys lead to: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What every page reads from, and is made with. */
export interface PageContext extends ReadContext {
  readonly files: PageFiles;
  readonly watches: TargetWatches;
  readonly rooms: LiveRooms;
}
