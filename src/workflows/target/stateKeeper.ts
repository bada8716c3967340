import { condition, isCancellation } from '@temporalio/workflow';

import { isToBeKept, stateToKeep, type TargetState } from '../../domain/target/targetState.ts';
import { explain } from '../failure.ts';
import { activitiesOf } from '../steps.ts';
import type { TargetCore } from './targetCore.ts';

/**
 * Writes the state that a target must not lose (hold, quarantine, verified revisions) to its record store at each
 * change. The target reads it if Temporal no longer has the target's earlier runs, or cannot replay them.
 */
export class StateKeeper {
  readonly #target: TargetCore;
  readonly #recordStore: string | undefined;
  #kept: TargetState | null;
  #isWriting = false;

  /**
   * @param recordStore - the store to use until a release names one.
   * @param kept - what the store contains already; `null` if that is not known.
   */
  constructor(target: TargetCore, recordStore: string | undefined, kept: TargetState | null) {
    this.#target = target;
    this.#recordStore = recordStore;
    this.#kept = kept;
  }

  /** Waits until the newest state is written, unless something goes first: a store that is away takes minutes. */
  async written(goesFirst: () => boolean): Promise<void> {
    if (!this.isWritten) await condition(() => this.isWritten || goesFirst());
  }

  get isWritten(): boolean {
    return !this.#isWriting && !this.#isBehind;
  }

  async keep(): Promise<void> {
    try {
      for (;;) {
        await condition(() => this.#isBehind);
        await this.#write(this.#target.state);
      }
    } catch (error) {
      // A reset ends this life of the target.
      if (!isCancellation(error)) throw error;
    }
  }

  get #isBehind(): boolean {
    return this.#store !== undefined && isToBeKept(this.#target.state, this.#kept);
  }

  get #store(): string | undefined {
    return this.#target.state.lastRequest?.recordStore ?? this.#recordStore;
  }

  async #write(state: TargetState): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    this.#kept = state;
    this.#isWriting = true;
    try {
      const activities = activitiesOf('record', state.lastRequest?.steps ?? {}, 'keep the state');
      await activities.keepTarget({ store, state: stateToKeep(state) });
    } catch (error) {
      const { canceled, message } = explain(error);
      if (canceled) throw error;
      this.#target.ignore('record', `the state could not be written to the record store: ${message}`);
    } finally {
      this.#isWriting = false;
    }
  }
}
