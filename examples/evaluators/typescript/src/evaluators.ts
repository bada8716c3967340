import { ChatOpenAI } from '@langchain/openai';
import { CONCISENESS_PROMPT, CORRECTNESS_PROMPT, createLLMAsJudge } from 'openevals';

/** What Slipway asks (docs/evaluators.md), as far as these evaluators need it. */
export interface EvaluationRequest {
  readonly input: unknown;
  readonly turns?: unknown;
  readonly answer: string;
  readonly reference: unknown;
}

export interface Score {
  readonly score: number;
  readonly comment?: string;
}

/** Scores one run. Throws the model's error. */
export type Evaluator = (request: EvaluationRequest) => Promise<Score>;

/** The evaluators by their paths, with a model behind an OpenAI-compatible API. */
export function evaluatorsWith(model: string, baseURL: string | undefined): ReadonlyMap<string, Evaluator> {
  const judge = new ChatOpenAI({
    model,
    // Slipway asks again if this one answers 5xx or 429.
    maxRetries: 0,
    configuration: { baseURL },
  });
  return new Map([
    ['/correctness', judgedBy(judge, 'correctness', CORRECTNESS_PROMPT)],
    ['/conciseness', judgedBy(judge, 'conciseness', CONCISENESS_PROMPT)],
  ]);
}

function judgedBy(judge: ChatOpenAI, feedbackKey: string, prompt: string): Evaluator {
  const evaluate = createLLMAsJudge({ judge, prompt, feedbackKey, continuous: true });
  return async ({ input, turns, answer, reference }) => {
    const { score, comment } = await evaluate({
      inputs: input ?? turns,
      outputs: answer,
      // The prompt has a place for it, which must not stay empty.
      referenceOutputs: reference ?? 'There is none: judge by what you know.',
    });
    return { score: Number(score), comment };
  };
}
