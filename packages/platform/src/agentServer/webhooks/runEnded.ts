import { wireRun } from '../http/wire.ts';
import type { LiveRun, RunEnding } from '../runs/liveRun.ts';

/** The body that a run's webhook gets: the run as it ended, without its `kwargs`, with its values. JSON text. */
export function runEndedBody(live: LiveRun, ending: RunEnding): string {
  const { kwargs: _kwargs, ...run } = wireRun(live.record);
  const { status, failure } = ending;
  const told = JSON.stringify({ ...run, status, ...(failure !== undefined && { error: failure }) });
  // The values are JSON already.
  return `${told.slice(0, -1)},"values":${ending.values}}`;
}
