import type { Client } from '@temporalio/client';

import type { PlaceRules, PlaceStanding } from '../../../src/domain/promotion/places.ts';
import { enterPlaceSignal, leavePlaceSignal, placeQuery } from '../../../src/messages/promotion.ts';
import { WORKFLOW_TYPES } from '../../../src/messages/workflowTypes.ts';
import type { Harness } from '../harness.ts';
import { historiesOf, type RecordedHistory } from '../recordedHistory.ts';

/** One at a time. */
const ONE: PlaceRules = { atOnce: 1, apartMs: 0 };

/** The places of the promotions of a task queue. */
export class PlacesUnderTest {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly workflowId: string;

  constructor({ client, taskQueue }: Pick<Harness, 'client' | 'taskQueue'>) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.workflowId = `promotion-places:${taskQueue}`;
  }

  /** Requests a place, or renews it, like an activity of a promotion. */
  async enter(id: string): Promise<void> {
    await this.#client.workflow.signalWithStart(WORKFLOW_TYPES.promotionPlaces, {
      workflowId: this.workflowId,
      taskQueue: this.#taskQueue,
      args: [],
      signal: enterPlaceSignal,
      signalArgs: [id, ONE],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  }

  leave(id: string): Promise<void> {
    return this.#handle.signal(leavePlaceSignal, id);
  }

  signal(name: string, ...args: readonly unknown[]): Promise<void> {
    return this.#handle.signal(name, ...args);
  }

  standing(id: string): Promise<PlaceStanding> {
    return this.#handle.query(placeQuery, id);
  }

  async ended(): Promise<void> {
    await this.#handle.result();
  }

  histories(): Promise<RecordedHistory[]> {
    return historiesOf(this.#client, this.workflowId);
  }

  get #handle() {
    return this.#client.workflow.getHandle(this.workflowId);
  }
}
