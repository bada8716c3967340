import type { FeedbackClient } from '../clients/feedback.ts';
import type { RunApiClient } from '../clients/runApi.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type JudgeError, type JudgeReport, type Side, SIDES, type Trial } from '../domain/judge/report.ts';
import { type JudgeSettings, repetitionsOf } from '../domain/judge/settings.ts';
import { inParallel } from './inParallel.ts';
import { AgentAway, type Evaluators, type JudgedAgent, makeTrial } from './judgedAgent.ts';
import { type Random, randomFrom, shuffled } from './random.ts';
import type { Input } from './inputs.ts';

export interface Judgement {
  readonly settings: JudgeSettings;
  readonly inputs: { readonly from: string; readonly chosen: readonly Input[] };
  readonly agents: Readonly<Record<Side, { readonly url: string; readonly client: RunApiClient }>>;
  readonly feedback: FeedbackClient;
  readonly evaluators: Evaluators;
  readonly signal: AbortSignal;
  /**
   * Called before the first run and after the last. Throws SLIPWAY_NOT_SERVING if a side has become another agent.
   */
  readonly confirm?: (side: Side) => Promise<void>;
  /** Runs of an earlier attempt at this judgement, which are not repeated. */
  readonly made?: readonly Trial[];
  /** Called for each run when it ends. Further runs start only after it has returned. */
  readonly onTrial?: (trial: Trial, progress: Progress) => void | Promise<void>;
}

export interface Progress {
  readonly made: number;
  readonly planned: number;
}

/**
 * Runs the same inputs on both sides, interleaved, and reports how the candidate compares. If an agent cannot be
 * called, the report is `errored`. @throws the signal's reason.
 */
export async function judgeCandidate(judgement: Judgement): Promise<JudgeReport> {
  const { settings, inputs, signal } = judgement;
  const startedAt = new Date().toISOString();
  const repetitions = repetitionsOf(settings, inputs.chosen.length);
  const plan = planTrials(inputs.chosen, repetitions, randomFrom(settings.seed));
  const trials = [...(judgement.made ?? [])];
  let error: JudgeError | null = null;
  try {
    await confirmSides(judgement);
    const made = new Set(trials.map(({ place }) => place));
    await warmUp(judgement, plan);
    await inParallel(
      plan.filter(({ place }) => !made.has(place)),
      settings.concurrency,
      signal,
      async ({ place, side, input }, ended) => {
        const trial = { place, side, ...(await makeTrial(agentOf(judgement, side), input, settings, ended)) };
        trials.push(trial);
        await judgement.onTrial?.(trial, { made: trials.length, planned: plan.length });
      },
    );
    await confirmSides(judgement);
  } catch (failure) {
    signal.throwIfAborted();
    if (!(failure instanceof AgentAway)) throw failure;
    const { side, code, message } = failure;
    error = { side, code, message };
  }
  const urls = Object.fromEntries(SIDES.map((side) => [side, judgement.agents[side].url]));
  // Loaded only if there is something to judge, because the statistics are WebAssembly and workers start without
  // them.
  const { reportOf } = await import('./reportOf.ts');
  return reportOf({
    settings,
    inputs: { from: inputs.from, count: inputs.chosen.length, repetitions },
    agentUrls: urls as Record<Side, string>,
    trials,
    error,
    startedAt,
    endedAt: new Date().toISOString(),
  });
}

async function confirmSides({ confirm }: Judgement): Promise<void> {
  for (const side of SIDES) {
    try {
      await confirm?.(side);
    } catch (error) {
      if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_NOT_SERVING') throw error;
      throw new AgentAway(side, error);
    }
  }
}

/** An agent's first runs load what later runs need, so they do not count. */
async function warmUp(judgement: Judgement, plan: readonly PlannedTrial[]): Promise<void> {
  const { settings, signal } = judgement;
  const first = SIDES.flatMap((side) =>
    plan.filter((trial) => trial.side === side).slice(0, settings.warmUpRuns),
  );
  const { feedbackKey: _recorded, evaluator: _scored, ...unrecorded } = settings;
  await inParallel(first, settings.concurrency, signal, async ({ side, input }, ended) => {
    await makeTrial(agentOf(judgement, side), input, unrecorded, ended);
  });
}

function agentOf({ agents, feedback, evaluators }: Judgement, side: Side): JudgedAgent {
  return { side, client: agents[side].client, feedback, evaluators };
}

export function freshSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}

interface PlannedTrial {
  readonly place: number;
  readonly side: Side;
  readonly input: Input;
}

/** All runs in order: each input, as often as repeated, on both sides in turn, so that both have the same load. */
function planTrials(inputs: readonly Input[], repetitions: number, random: Random): PlannedTrial[] {
  const rounds = Array.from({ length: repetitions }, () => shuffled(inputs, random));
  return rounds
    .flat()
    .flatMap((input) => shuffled(SIDES, random).map((side) => ({ side, input })))
    .map((trial, place) => ({ place, ...trial }));
}
