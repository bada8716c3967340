import { Context } from '@temporalio/activity';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { type Input, inputsOfFile, recordedInputs, someInputs } from '../../judge/inputs.ts';
import type { Trial } from '../../domain/judge/report.ts';
import { judgeCandidate } from '../../judge/judgement.ts';
import { randomFrom, sample } from '../../judge/random.ts';
import type { Activities, JudgementInput } from '../activities.ts';
import { requireActive } from '../check/checkActivities.ts';
import type { Connections } from '../connections.ts';
import { reportProgress } from '../heartbeat.ts';
import type { Place } from '../promotion/places.ts';
import { scrubTexts } from '../scrub.ts';
import type { Untracked } from '../track.ts';

/** Judges a candidate. One attempt may take hours. */
export function judgeActivities(
  connections: Connections,
  place: Place,
): Untracked<Pick<Activities, 'judgeCandidate'>> {
  return {
    judgeCandidate: async (input) => {
      await place.take();
      try {
        return await judge(connections, place, input);
      } finally {
        await place.leave();
      }
    },
  };
}

async function judge(
  connections: Connections,
  place: Place,
  input: JudgementInput,
): ReturnType<Untracked<Pick<Activities, 'judgeCandidate'>>['judgeCandidate']> {
  const { settings, sides, judgementId } = input;
  const store = openArtifactStore(input.store);
  const folder = `judgements/${judgementId}`;
  const trials = await KeptTrials.open(store, folder);
  const judged = await judgeCandidate({
    settings,
    inputs: {
      from: input.inputs === 'recorded' ? 'recorded runs' : input.inputs.name,
      chosen: await chosenInputs(connections, store, folder, input),
    },
    agents: {
      baseline: agentOf(connections, sides.baseline),
      candidate: agentOf(connections, sides.candidate),
    },
    feedback: connections.feedback(),
    evaluators: { pool: connections.evaluators() },
    signal: Context.current().cancellationSignal,
    confirm: (side) => requireActive(connections, sides[side]),
    made: trials.kept,
    onTrial: async (trial, { made, planned }) => {
      reportProgress(`${made} of ${planned} runs are done`);
      await place.keep();
      await trials.keep(scrubTexts(trial));
    },
  });
  await trials.flush();
  const report = scrubTexts(judged);
  const location = `${folder}/report.json`;
  await store.putRecord(location, report);
  return { report, location };
}

function agentOf(connections: Connections, { target, agentUrl }: JudgementInput['sides']['baseline']) {
  return { url: agentUrl, client: connections.agent(target, agentUrl) };
}

/** The inputs, drawn once: the baseline may have recorded more by the next attempt. */
async function chosenInputs(
  connections: Connections,
  store: ArtifactStore,
  folder: string,
  { inputs, settings, sides }: JudgementInput,
): Promise<readonly Input[]> {
  const record = `${folder}/inputs.json`;
  const drawn = (await store.getRecord(record)) as readonly Input[] | undefined;
  if (drawn !== undefined) return drawn;
  const { seed, inputsMax, assistant, expect } = settings;
  const chosen = await sample(await source(), inputsMax, randomFrom(seed));
  await store.putRecord(record, someInputs(chosen, inputs === 'recorded' ? 'recorded runs' : inputs.name));
  return chosen;

  async function source(): Promise<AsyncIterable<Input>> {
    if (inputs !== 'recorded')
      return inputsOfFile((await store.open(inputs.digest)).stream, inputs.name, expect);
    const { client } = agentOf(connections, sides.baseline);
    return recordedInputs(client, assistant, Context.current().cancellationSignal);
  }
}

/** The most runs that are lost if their worker dies. */
const BATCH = 25;

/** The runs of one judgement, stored in batches, so that the next attempt can continue with them. */
class KeptTrials {
  /** The runs of earlier attempts. */
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

  /** @throws SLIPWAY_ARTIFACT_STORE_UNAVAILABLE, like the other methods. */
  static async open(store: ArtifactStore, folder: string): Promise<KeptTrials> {
    const names = await store.listRecords(`${folder}/trials/`);
    const batches = await Promise.all(names.map((name) => store.getRecord(name)));
    return new KeptTrials(store, folder, batches as (readonly Trial[])[]);
  }

  /** Keeps a run. If it completes a batch, waits until the batch is stored. */
  async keep(trial: Trial): Promise<void> {
    this.#waiting.push(trial);
    if (this.#waiting.length >= BATCH) await this.flush();
  }

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
