import type { Logger } from 'pino';

import type { RunLeases } from '../store/runLeases.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { RunMoved, ThreadMoved } from './liveRun.ts';
import { Watch } from './watch.ts';

/** Waits for the ends of runs that this process does not execute, by their ids. */
export function watchEnds(leases: RunLeases, log: Logger): Watch {
  return new Watch({
    look: async (asked) => {
      const active = await leases.stillActive(asked);
      return asked.filter((runId) => !active.has(runId));
    },
    moved: (runId) => new RunMoved(runId),
    log,
  });
}

/** Waits until threads are other than they were last seen ({@link asSeen}): also by runs of other processes. */
export function watchThreads(threads: ThreadStore, log: Logger): Watch {
  return new Watch({
    look: async (asked) => {
      const seen = asked.map((key) => key.split(' ')[0] ?? '');
      const versions = await threads.versions(seen);
      return asked.filter((key, index) => key !== asSeen(seen[index] ?? '', versions.get(seen[index] ?? '')));
    },
    moved: (key) => new ThreadMoved(key.split(' ')[0] ?? ''),
    log,
  });
}

/** A thread as it was at a version of it ({@link ThreadStore.versions}). */
export function asSeen(threadId: string, version: string | undefined): string {
  return `${threadId} ${version ?? ''}`;
}
