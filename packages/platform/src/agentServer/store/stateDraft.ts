import type {
  Checkpoint,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint';

import { HttpProblem } from '../../http/problem.ts';
import type { CheckpointRow, CheckpointRows, ValueRow, WriteRow } from './fencedWrites.ts';

/** The configuration key of a graph's draft. LangGraph keeps names like this out of the metadata. */
export const DRAFT_KEY = '__slipway_draft';

/** The most that a draft may hold, in bytes. Decision: one statement stores it, and PostgreSQL accepts at most 1 GiB. */
const BYTES_MAX = 256 * 1_048_576;

/** A stored value of a channel. */
export type StoredValue = Pick<ValueRow, 'channel' | 'type' | 'blob'>;

interface StateDraftOptions {
  readonly threadId: string;
  readonly serde: SerializerProtocol;
  /** Reads the stored values of channels at the given versions. */
  readonly readValues: (
    namespace: string,
    versions: readonly (readonly [channel: string, version: string])[],
  ) => Promise<readonly StoredValue[]>;
}

/**
 * The checkpoints that changes by hand make of a thread, before one statement stores them together with the thread's
 * record. The code of the graph that makes them may take long, so no lock is held meanwhile. The graph reads them as if
 * they were stored.
 */
export class StateDraft {
  readonly threadId: string;
  readonly checkpoints: CheckpointRow[] = [];
  readonly values: ValueRow[] = [];
  readonly writes: WriteRow[] = [];
  readonly #options: StateDraftOptions;
  #bytes = 0;

  constructor(options: StateDraftOptions) {
    this.threadId = options.threadId;
    this.#options = options;
  }

  /** @throws HttpProblem 413 */
  add({ checkpoints, values, writes }: CheckpointRows): void {
    for (const { blob } of [...values, ...writes]) this.#bytes += blob?.byteLength ?? 0;
    if (this.#bytes > BYTES_MAX)
      throw new HttpProblem(413, `The states are larger than ${BYTES_MAX} bytes together.`);
    // The graph goes on with its own object.
    for (const row of checkpoints)
      this.checkpoints.push({ ...row, checkpoint: structuredClone(row.checkpoint) });
    this.values.push(...values);
    this.writes.push(...writes);
  }

  /** The checkpoint with this id; without one, the newest. `undefined` if the draft has none. */
  async find(namespace: string, id = ''): Promise<CheckpointTuple | undefined> {
    const row = this.checkpoints.findLast(
      (each) => each.namespace === namespace && (id === '' || each.id === id),
    );
    if (row === undefined) return undefined;
    const checkpoint = structuredClone(row.checkpoint) as Checkpoint;
    const address = { thread_id: this.threadId, checkpoint_ns: namespace };
    return {
      config: { configurable: { ...address, checkpoint_id: row.id } },
      checkpoint: { ...checkpoint, channel_values: await this.#valuesOf(namespace, checkpoint) },
      metadata: structuredClone(row.metadata) as CheckpointMetadata,
      ...(row.parentId !== undefined && {
        parentConfig: { configurable: { ...address, checkpoint_id: row.parentId } },
      }),
      pendingWrites: [],
    };
  }

  /** The drafted writes to a checkpoint, which may be a stored one. */
  async writesTo(namespace: string, checkpointId: string): Promise<CheckpointPendingWrite[]> {
    const mine = this.writes.filter(
      (row) => row.namespace === namespace && row.checkpointId === checkpointId,
    );
    return Promise.all(
      mine.map(async ({ taskId, channel, type, blob }): Promise<CheckpointPendingWrite> => [
        taskId,
        channel,
        await this.#options.serde.loadsTyped(type, blob),
      ]),
    );
  }

  /** Finds values as the database joins them: by channel and version. */
  async #valuesOf(namespace: string, { channel_versions }: Checkpoint): Promise<Record<string, unknown>> {
    const found: StoredValue[] = [];
    const missing: [string, string][] = [];
    for (const [channel, version] of Object.entries(channel_versions)) {
      const isMine = (row: ValueRow) =>
        row.namespace === namespace && row.channel === channel && row.version === String(version);
      const drafted = this.values.findLast(isMine);
      if (drafted === undefined) missing.push([channel, String(version)]);
      else found.push(drafted);
    }
    if (missing.length > 0) found.push(...(await this.#options.readValues(namespace, missing)));
    const entries = found.map(async ({ channel, type, blob }): Promise<[string, unknown][]> => {
      if (type === 'empty' || blob == null) return [];
      return [[channel, await this.#options.serde.loadsTyped(type, blob)]];
    });
    return Object.fromEntries((await Promise.all(entries)).flat());
  }
}
