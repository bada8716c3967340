import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import type { Trial } from '../../judge/judgedAgent.ts';

/** How many runs are lost at most when their worker dies. */
const BATCH = 25;

/** The runs of one judgement in the artifact store, in batches, so that another attempt finds them. */
export class KeptTrials {
  /** The runs of the attempts before this one. */
  readonly kept: readonly Trial[];
  readonly #store: ArtifactStore;
  readonly #folder: string;
  #batches: number;
  #waiting: Trial[] = [];
  #writing: Promise<void> = Promise.resolve();

  private constructor(store: ArtifactStore, folder: string, batches: readonly (readonly Trial[])[]) {
    this.#store = store;
    this.#folder = folder;
    this.#batches = batches.length;
    this.kept = batches.flat();
  }

  /** @throws SLIPWAY_ARTIFACT_STORE_UNAVAILABLE, as all of this does. */
  static async open(store: ArtifactStore, folder: string): Promise<KeptTrials> {
    const names = await store.listRecords(`${folder}/trials/`);
    const batches = await Promise.all(names.map((name) => store.getRecord(name)));
    return new KeptTrials(store, folder, batches as (readonly Trial[])[]);
  }

  /** Keeps a run. Returns once it is stored, where it is the last one of a batch. */
  async keep(trial: Trial): Promise<void> {
    this.#waiting.push(trial);
    if (this.#waiting.length >= BATCH) await this.flush();
  }

  /** Stores what waits. */
  flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) {
      const name = `${this.#folder}/trials/${String(this.#batches++).padStart(6, '0')}.json`;
      this.#writing = this.#writing.then(() => this.#store.putRecord(name, batch));
    }
    return this.#writing;
  }
}
