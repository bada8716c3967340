import { createInterface } from 'node:readline/promises';

import { TARGET_NAME } from '../../../domain/target/targetSpec.ts';
import { CI_KINDS, type CiKind, type RepositoryFacts } from './repositoryFacts.ts';

/** The values that the files are made from. */
export interface InitAnswers {
  readonly target: string;
  readonly controlPlane: string;
  readonly deployment: string;
  /** The graph that is checked; `undefined`: none. */
  readonly assistant: string | undefined;
  readonly ci: CiKind;
}

export type Ask = (question: string, byDefault: string) => Promise<string>;

export function defaultAnswers({ graphs, name, host }: RepositoryFacts): InitAnswers {
  return {
    target: 'staging',
    controlPlane: 'http://127.0.0.1:4700',
    deployment: name,
    assistant: graphs[0],
    ci: host ?? 'none',
  };
}

/** Asks for what cannot be detected. The offered defaults are those of {@link defaultAnswers}. */
export async function askAnswers(facts: RepositoryFacts, ask: Ask): Promise<InitAnswers> {
  const offered = defaultAnswers(facts);
  const target = await asked(ask, 'What is the name of the first target?', offered.target, (text) =>
    TARGET_NAME.test(text) ? undefined : 'use letters, digits, dots and dashes only',
  );
  const controlPlane = await asked(
    ask,
    'What is the URL of its control plane? (default: that of "slipway dev")',
    offered.controlPlane,
    (text) => (URL.canParse(text) && /^https?:/.test(text) ? undefined : 'use an http or https URL'),
  );
  const deployment = await ask('What is the name of the deployment there?', offered.deployment);
  const { graphs } = facts;
  const assistant =
    graphs.length > 1
      ? await asked(
          ask,
          `Which graph should the check run? (${graphs.join(', ')})`,
          graphs[0] ?? '',
          oneOf(graphs),
        )
      : offered.assistant;
  const ci = await asked(ask, `Write a CI file? (${CI_KINDS.join(', ')})`, offered.ci, oneOf(CI_KINDS));
  return { target, controlPlane, deployment, assistant, ci: CI_KINDS.find((kind) => kind === ci) ?? 'none' };
}

async function asked(
  ask: Ask,
  question: string,
  byDefault: string,
  problem: (text: string) => string | undefined,
): Promise<string> {
  for (let hint = ''; ;) {
    const answer = await ask(`${hint}${question}`, byDefault);
    const wrong = problem(answer);
    if (wrong === undefined) return answer;
    hint = `${wrong}. `;
  }
}

function oneOf(words: readonly string[]): (text: string) => string | undefined {
  return (text) => (words.includes(text) ? undefined : `one of ${words.join(', ')}, please`);
}

export function terminalQuestions(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): { readonly ask: Ask; close(): void } {
  const lines = createInterface({ input, output });
  return {
    ask: async (question, byDefault) => {
      const answer = await lines.question(`${question} [${byDefault}] `, { signal });
      return answer.trim() === '' ? byDefault : answer.trim();
    },
    close: () => lines.close(),
  };
}
