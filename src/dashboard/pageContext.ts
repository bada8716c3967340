import type { ListeningHook } from '../temporal/client/hooks/hookClient.ts';
import type { LiveRooms } from './live/liveRooms.ts';
import type { ReadContext } from './live/targetWatch.ts';
import type { TargetWatches } from './live/targetWatches.ts';
import type { RecordOnPage } from './metrics/pageMetrics.ts';
import type { PageFiles } from './pageFiles.ts';

export interface PageContext extends ReadContext {
  readonly files: PageFiles;
  readonly watches: TargetWatches;
  readonly rooms: LiveRooms;
  /** The hooks of the `slipway.yaml` that the page was started with. Empty: it knows only their events. */
  readonly hooksOfFile: readonly ListeningHook[];
  /** Absent: nothing is measured. */
  readonly record?: RecordOnPage;
}
