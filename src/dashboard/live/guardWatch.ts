import type { GuardPolicy } from '../../domain/guard/guardPolicy.ts';
import type { Guarding } from '../../domain/guard/guarding.ts';
import { type GuardWatched, readGuardPolicy, readMeasured } from '../../temporal/client/guard/guardClient.ts';
import { pause } from '../../temporal/client/pause.ts';
import type { ReadContext } from '../readContext.ts';

/** How often a running guard is read, in milliseconds. Its heartbeats add no event to a history. */
const READ_EVERY_MS = 5_000;
const CALL_TIMEOUT_MS = 5_000;

export interface GuardOnPage extends GuardWatched {
  readonly workflowId: string;
  /** `undefined`: Temporal does not have it any longer. */
  readonly policy: GuardPolicy | undefined;
}

/** Watches a target's guard until it ends: reads from Temporal what it measures, and calls `onRead` each time. */
export class GuardWatch {
  readonly #context: Pick<ReadContext, 'temporal'>;
  readonly #onRead: (guard: GuardOnPage) => void;
  readonly #signal: AbortSignal;
  #guarding: Guarding | undefined;
  #watched: string | undefined;

  constructor(
    context: Pick<ReadContext, 'temporal'>,
    onRead: (guard: GuardOnPage) => void,
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#onRead = onRead;
    this.#signal = signal;
  }

  see(guarding: Guarding | undefined): void {
    this.#guarding = guarding;
    if (guarding === undefined || guarding.workflowId === this.#watched) return;
    this.#watched = guarding.workflowId;
    void this.#watch(guarding.workflowId);
  }

  async #watch(workflowId: string): Promise<void> {
    const { temporal } = this.#context;
    let read: GuardOnPage | undefined;
    while (!this.#signal.aborted && this.#guarding?.workflowId === workflowId) {
      const isOver = this.#guarding.ended !== undefined;
      try {
        const [policy, watched] = await temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          Promise.all([
            read?.policy ?? readGuardPolicy(temporal, workflowId),
            isOver ? { says: null, measured: read?.measured ?? null } : readMeasured(temporal, workflowId),
          ]),
        );
        read = { workflowId, policy, ...watched };
        this.#onRead(read);
        if (isOver) return;
      } catch {
        // Read again. If Temporal does not answer, the target's snapshot shows it.
      }
      await pause(READ_EVERY_MS, this.#signal);
    }
  }
}
