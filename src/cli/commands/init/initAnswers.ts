import { createInterface } from 'node:readline/promises';

import { SlipwayError } from '../../../domain/errors.ts';
import { TARGET_NAME } from '../../../domain/target/targetSpec.ts';
import { interruptible } from '../../interruption.ts';
import { PORTS } from '../../usualPorts.ts';
import { CI_KINDS, type CiKind, type RepositoryFacts } from './repositoryFacts.ts';

/** What `slipway init` must know to write its files. */
export interface InitAnswers {
  readonly target: string;
  readonly controlPlane: string;
  readonly deployment: string;
  /** The graph that is checked; `undefined`: none. */
  readonly assistant: string | undefined;
  readonly ci: CiKind;
}

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks for what the repository does not show. The offered defaults are those of {@link defaultAnswers}.
 * @throws SlipwayError SLIPWAY_USAGE if the person leaves.
 */
export async function answersOnTerminal(
  facts: RepositoryFacts,
  { input, output }: Terminal,
): Promise<InitAnswers> {
  return interruptible(async (signal) => {
    const lines = createInterface({ input, output });
    const ask: Ask = async (question, byDefault) => {
      const answer = await lines.question(`${question} [${byDefault}] `, { signal });
      return answer.trim() === '' ? byDefault : answer.trim();
    };
    try {
      return await askAnswers(facts, ask);
    } catch (error) {
      // readline handles Ctrl-C and Ctrl-D on a terminal, so the process gets no signal.
      const isLeft = error instanceof Error && error.name === 'AbortError';
      if (!isLeft && !signal.aborted) throw error;
      // The cursor is behind the question.
      output.write('\n');
      throw new SlipwayError('SLIPWAY_USAGE', 'stopped; nothing was written');
    } finally {
      lines.close();
    }
  });
}

type Ask = (question: string, byDefault: string) => Promise<string>;

/** The answers without questions. */
export function defaultAnswers({ graphs, name, host }: RepositoryFacts): InitAnswers {
  return {
    target: 'staging',
    controlPlane: `http://127.0.0.1:${PORTS.platform.preferred}`,
    deployment: name,
    assistant: graphs[0],
    ci: host ?? 'none',
  };
}

async function askAnswers(facts: RepositoryFacts, ask: Ask): Promise<InitAnswers> {
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
  let { assistant } = offered;
  if (assistant !== undefined && graphs.length > 1) {
    const which = `Which graph should the check run? (${graphs.join(', ')})`;
    assistant = await asked(ask, which, assistant, oneOf(graphs));
  }
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
