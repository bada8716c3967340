import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An agent without dependencies: nothing is installed or compiled, and it starts quickly. */
export interface SmallAgent {
  readonly says: string;
  /** While a file with this path exists, a starting instance is not ready. */
  readonly waitsWhileThereIs?: string;
  /** How long it takes to answer, in milliseconds. Default: 200, long enough for a kill during a run. */
  readonly takesMs?: number;
  /** How long it takes to answer an input that contains "slowly", in milliseconds. Default: `takesMs`. */
  readonly slowlyMs?: number;
  /** Whether it fails on inputs that contain "break". */
  readonly breaks?: boolean;
  /** While a file with this path exists, it answers "Goodbye". */
  readonly badWhileThereIs?: string;
  /** A file to which it appends each question, a line each, before it answers. Default: it appends to none. */
  readonly notesIn?: string;
}

/** Writes the agent's source into a folder. */
export async function writeSmallAgent(folder: string, agent: SmallAgent): Promise<void> {
  await writeFile(join(folder, 'graph.json'), JSON.stringify({ graphs: { greeter: './agent.mjs:graph' } }));
  await writeFile(join(folder, 'agent.mjs'), sourceOf(agent));
}

function sourceOf({
  says,
  waitsWhileThereIs = '',
  takesMs = 200,
  slowlyMs = takesMs,
  breaks = false,
  badWhileThereIs = '',
  notesIn = '',
}: SmallAgent): string {
  return `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { END, MessagesAnnotation, START, StateGraph } from '${import.meta.resolve('@langchain/langgraph')}';

while (existsSync(${JSON.stringify(waitsWhileThereIs)})) await sleep(50);

async function answer({ messages }) {
  const question = String(messages.at(-1)?.content ?? '');
  if (${notesIn !== ''}) appendFileSync(${JSON.stringify(notesIn)}, question + '\\n');
  await sleep(question.includes('slowly') ? ${slowlyMs} : ${takesMs});
  if (${breaks} && question.includes('break')) throw new Error('it broke');
  const content = existsSync(${JSON.stringify(badWhileThereIs)}) ? 'Goodbye' : ${JSON.stringify(says)};
  return { messages: [{ role: 'assistant', content }] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile({ name: 'greeter' });
`;
}
