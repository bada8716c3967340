import { HttpProblem } from '../../http/problem.ts';
import type { CheckpointHistory } from '../store/checkpointHistory.ts';
import { ACTIVE } from '../store/agentDatabase.ts';
import type { RunStore } from '../store/runStore.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import type { Kwargs } from './newRun.ts';
import type { RunService } from './runService.ts';

const BATCH = 100;

interface ThreadRemovalParts {
  readonly threads: ThreadStore;
  readonly runs: RunStore;
  readonly service: RunService;
  readonly history: CheckpointHistory;
}

/** Removes threads with everything that belongs to them, after ending their active runs. */
export class ThreadRemoval {
  readonly #parts: ThreadRemovalParts;

  constructor(parts: ThreadRemovalParts) {
    this.#parts = parts;
  }

  /** @throws HttpProblem 404 */
  async remove(threadId: string): Promise<void> {
    do {
      const active = await this.#parts.runs.activeRuns(threadId);
      // A run of a removed thread is removed too: its clients get an error, as for any rollback.
      await this.#parts.service.cancel(active, 'rollback');
      await Promise.all(active.map((run) => this.#parts.service.waitForEnding(run)));
    } while (!(await this.#parts.threads.remove(threadId)));
  }

  /** Removes every thread on which a run of an assistant is active, or was the last to begin. */
  async removeThreadsOf(assistantId: string): Promise<void> {
    for (const { thread_id: threadId, assistant_id: id, kwargs } of await this.#parts.runs.withStatus(ACTIVE))
      if (id === assistantId && !(kwargs as Kwargs).temporary) await ignoreNotFound(this.remove(threadId));
    const search = { metadata: { assistant_id: assistantId }, limit: BATCH, offset: 0 };
    for (let found = await this.#parts.threads.search(search); found.length > 0;) {
      for (const { thread_id: threadId } of found) await ignoreNotFound(this.remove(threadId));
      found = await this.#parts.threads.search(search);
    }
  }

  /**
   * Removes threads and their runs (`delete`), or all but each thread's newest state (`keep_latest`; public client:
   * `threads.prune`). Returns how many were pruned. Unknown threads do not count; `keep_latest` skips threads with
   * active runs.
   */
  async prune(threadIds: readonly string[], strategy: 'delete' | 'keep_latest'): Promise<number> {
    let pruned = 0;
    for (const threadId of new Set(threadIds)) {
      const isPruned =
        strategy === 'delete'
          ? await ignoreNotFound(this.remove(threadId))
          : await this.#parts.history.dropAllButNewest(threadId);
      if (isPruned) pruned += 1;
    }
    return pruned;
  }
}

/** False if another request has removed the thread meanwhile. */
async function ignoreNotFound(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof HttpProblem && error.status === 404) return false;
    throw error;
  }
}
