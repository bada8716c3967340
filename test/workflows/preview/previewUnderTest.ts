import { type Client, WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client';

import type {
  PreviewAnswer,
  PreviewJudge,
  PreviewResult,
  PreviewSpec,
  PreviewState,
  PreviewSummary,
  PreviewTerms,
} from '../../../src/domain/preview/preview.ts';
import { previewWorkflowId } from '../../../src/domain/preview/previewName.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import {
  previewQuery,
  previewStart,
  pushPreviewUpdate,
  removePreviewSignal,
} from '../../../src/messages/preview.ts';
import type { PreviewInput } from '../../../src/messages/workflowTypes.ts';
import type { Harness } from '../harness.ts';
import { historiesOf, type RecordedHistory } from '../recordedHistory.ts';
import { seen } from '../seen.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/** A preview's deadline that no test reaches. */
export const LONG_MS = 3_600_000;

const COMMENT = {
  kind: 'github',
  apiUrl: 'https://api.github.test',
  token: { from: 'env:COMMENT_TOKEN' },
  repository: 'team/agent',
} as const;

export class PreviewsUnderTest {
  readonly #harness: Harness;
  readonly #previews: PreviewUnderTest[] = [];

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  /** The preview whose deployment is that of a target. */
  of(target: TargetUnderTest, input: Partial<PreviewInput> = {}): PreviewUnderTest {
    const preview = new PreviewUnderTest(this.#harness, target, input);
    this.#previews.push(preview);
    return preview;
  }

  async histories(): Promise<RecordedHistory[]> {
    return (await Promise.all(this.#previews.map((preview) => preview.histories()))).flat();
  }
}

export class PreviewUnderTest {
  readonly target: TargetUnderTest;
  /** What its pushes are compared by. */
  judge: PreviewJudge | undefined;
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #input: Partial<PreviewInput>;

  constructor({ client, taskQueue }: Harness, target: TargetUnderTest, input: Partial<PreviewInput>) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.target = target;
    this.#input = input;
  }

  get handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(previewWorkflowId(this.target.request('a').target));
  }

  /** Pushes an artifact, named by one letter. */
  push(
    artifact: string,
    { ttlMs = LONG_MS, ...changes }: { ttlMs?: number } & Partial<ReleaseRequest> = {},
  ): Promise<PreviewAnswer> {
    const request = this.target.request(artifact, { commit: `commit-${artifact}`, ...changes });
    return this.#client.workflow.executeUpdateWithStart(pushPreviewUpdate, {
      startWorkflowOperation: new WithStartWorkflowOperation('preview', this.#start(request, ttlMs)),
      args: [{ terms: this.#terms(ttlMs), request }],
    });
  }

  /** Pushes its first artifact, and waits for the outcome. */
  async release(artifact: string, changes: Partial<ReleaseRequest> = {}): Promise<PreviewState> {
    await this.push(artifact, changes);
    return this.stateOnce(({ last }) => last !== null);
  }

  /** Asks for the removal, and starts the preview where it does not run. */
  async remove(reason: string): Promise<void> {
    await this.#client.workflow.signalWithStart('preview', {
      ...this.#start(this.target.request('a'), LONG_MS),
      signal: removePreviewSignal,
      signalArgs: [{ who: 'ada', from: 'test', reason }],
    });
  }

  result(): Promise<PreviewResult> {
    return this.handle.result() as Promise<PreviewResult>;
  }

  /** Its state once it shows something. */
  async stateOnce(shows: (state: PreviewState) => boolean): Promise<PreviewState> {
    return seen(this.handle, async () => {
      const state = await this.handle.query(previewQuery);
      return shows(state) ? state : undefined;
    });
  }

  async summary(): Promise<PreviewSummary> {
    return (await this.handle.describe()).memo?.['preview'] as PreviewSummary;
  }

  async carriedOn(): Promise<void> {
    while ((await this.histories()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** Waits until its newest run has accepted so many pushes. */
  async accepted(pushes: number): Promise<void> {
    for (;;) {
      const [newest] = await this.histories();
      const events = newest?.history.events ?? [];
      const accepted = events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes != null);
      if (accepted.length >= pushes) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Lets its next workflow task go to any worker: the one that knew it is gone. */
  async loseWorker(): Promise<void> {
    const execution = { workflowId: this.handle.workflowId };
    await this.#client.workflowService.resetStickyTaskQueue({ namespace: 'default', execution });
  }

  histories(): Promise<RecordedHistory[]> {
    return historiesOf(this.#client, this.handle.workflowId);
  }

  #start({ target, recordStore }: ReleaseRequest, ttlMs: number) {
    const spec: PreviewSpec = { ...this.#terms(ttlMs), target, recordStore };
    const start = previewStart(spec, this.#taskQueue);
    return { ...start, args: [{ spec, ...this.#input }] };
  }

  #terms(ttlMs: number): PreviewTerms {
    return { name: 'pull-request', pr: 7, ttlMs, comment: COMMENT, judge: this.judge };
  }
}
