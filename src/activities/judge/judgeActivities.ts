import { Context } from '@temporalio/activity';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { type Input, inputsOfFile, recordedInputs, someInputs } from '../../judge/inputs.ts';
import { judgeCandidate } from '../../judge/judgement.ts';
import { randomFrom, sample } from '../../judge/random.ts';
import type { Activities, JudgementInput } from '../activities.ts';
import { requireActive } from '../check/requireActive.ts';
import type { Connections } from '../connections.ts';
import { reportProgress } from '../heartbeat.ts';
import type { Place } from '../promotion/places.ts';
import { scrubText, scrubTexts } from '../scrub.ts';
import type { Untracked } from '../track.ts';
import { KeptTrials } from './keptTrials.ts';

/** Judges a candidate: hours of runs in one attempt. */
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
    signal: Context.current().cancellationSignal,
    confirm: (side) => requireActive(connections, sides[side]),
    made: trials.kept,
    onTrial: async (trial, { made, planned }) => {
      reportProgress(`${made} of ${planned} runs are done`);
      await place.keep();
      await trials.keep({ ...trial, reason: trial.reason === null ? null : scrubText(trial.reason) });
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

/** The inputs of the judgement: drawn once, since what the baseline has recorded may be more at the next attempt. */
async function chosenInputs(
  connections: Connections,
  store: ArtifactStore,
  folder: string,
  { inputs, settings, sides }: JudgementInput,
): Promise<readonly Input[]> {
  const record = `${folder}/inputs.json`;
  const drawn = (await store.getRecord(record)) as readonly Input[] | undefined;
  if (drawn !== undefined) return drawn;
  const { seed, inputsMax, assistant } = settings;
  const chosen = await sample(await source(), inputsMax, randomFrom(seed));
  await store.putRecord(record, someInputs(chosen, inputs === 'recorded' ? 'recorded runs' : inputs.name));
  return chosen;

  async function source(): Promise<AsyncIterable<Input>> {
    if (inputs !== 'recorded') return inputsOfFile((await store.open(inputs.digest)).stream, inputs.name);
    const { client } = agentOf(connections, sides.baseline);
    return recordedInputs(client, assistant, Context.current().cancellationSignal);
  }
}
