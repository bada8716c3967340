import type { Readable } from 'node:stream';

import { z } from 'zod';

import type { RunApiClient } from '../clients/runApi.ts';
import { FOR_PROBLEMS } from '../config/configProblem.ts';
import { Expectation } from '../config/expectationSchema.ts';
import { typeProblem } from '../config/fields.ts';
import { type Expectation as ExpectationOfRun, referenceProblem } from '../domain/check/expectation.ts';
import { SlipwayError } from '../domain/errors.ts';
import { jsonLines, lineProblem } from './jsonLines.ts';

/** One input for both sides. */
export interface Input {
  readonly input: Readonly<Record<string, unknown>>;
  /** What its run must show. Default: the settings' expectation. */
  readonly expect?: ExpectationOfRun;
  /** What the expectation and the evaluator compare its answer with. */
  readonly reference?: unknown;
}

const Line = z.strictObject(
  {
    input: z.record(z.string(), z.unknown(), 'expected an object'),
    expect: Expectation.optional(),
    reference: z.unknown().optional(),
  },
  typeProblem('expected an object'),
);

/**
 * The inputs of a JSON Lines file, read one at a time, so that it may have any size.
 * @param name - the file's name in errors.
 * @param expect - the expectation for inputs that have none of their own.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID with the line.
 */
export async function* inputsOfFile(
  stream: Readable,
  name: string,
  expect: ExpectationOfRun = {},
): AsyncGenerator<Input, void> {
  for await (const { line, value } of jsonLines(stream)) {
    const parsed = Line.safeParse(value, FOR_PROBLEMS);
    if (!parsed.success) throw invalid(`${name}:${line}`, lineProblem(parsed.error, value));
    const { expect: own = expect, reference } = parsed.data;
    const incomparable = referenceProblem(reference, [own]);
    if (incomparable !== undefined) throw invalid(`${name}:${line}`, incomparable);
    yield parsed.data;
  }
}

const THREADS_PAGE = 100;
const RUNS_PER_THREAD = 100;

/** The inputs of the assistant's successful runs on threads, without answers. `assistant`: a graph's name or an id. */
export async function* recordedInputs(
  agent: RunApiClient,
  assistant: string,
  signal: AbortSignal,
): AsyncGenerator<Input, void> {
  const { assistant_id: assistantId } = await theAssistant(agent, assistant, signal);
  for (let offset = 0; ; offset += THREADS_PAGE) {
    const threads = await agent.searchThreads({ limit: THREADS_PAGE, offset }, { signal });
    for (const { thread_id: threadId } of threads) {
      const runs = await agent.listRuns(threadId, { limit: RUNS_PER_THREAD, status: 'success' }, { signal });
      for (const { assistant_id: ofRun, status, kwargs } of runs) {
        const input = z.record(z.string(), z.unknown()).safeParse(kwargs?.input);
        if (ofRun === assistantId && status === 'success' && input.success) yield { input: input.data };
      }
    }
    if (threads.length < THREADS_PAGE) return;
  }
}

async function theAssistant(
  agent: RunApiClient,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly assistant_id: string }> {
  const assistants = await agent.searchAssistants({ limit: 1000 }, { signal });
  const named = assistants.filter(({ assistant_id: id, graph_id: graph }) => id === name || graph === name);
  // People may have created others of the graph; by the graph's name, an agent runs its own.
  const found = named.find(({ metadata }) => metadata?.['created_by'] === 'system') ?? named[0];
  if (found !== undefined) return found;
  throw invalid(name, 'the baseline has no assistant of that name, so no recorded runs');
}

/** @throws SLIPWAY_JUDGE_INPUTS_INVALID if there are no inputs. */
export function someInputs(inputs: readonly Input[], from: string): readonly Input[] {
  if (inputs.length === 0) throw noInput(from);
  return inputs;
}

export function noInput(from: string): SlipwayError {
  return invalid(from, 'it contains no input');
}

function invalid(place: string, what: string): SlipwayError {
  return new SlipwayError('SLIPWAY_JUDGE_INPUTS_INVALID', `the judge’s inputs cannot be used: ${what}`, {
    place,
    hint: 'one JSON object per line: {"input": {…}, "expect": {…}}; docs/judge.md describes it',
  });
}
