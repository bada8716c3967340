import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An agent without dependencies of its own: nothing is installed or compiled, and it starts in a moment. */
export interface SmallAgent {
  /** What it answers to everything. */
  readonly says: string;
  /** While there is a file of this path, an instance that starts is not ready. */
  readonly waitsWhileThereIs?: string;
  /** How long it takes to answer, in milliseconds. Default: 200, long enough to be met in the middle of a run. */
  readonly takesMs?: number;
  /** How long it takes to answer what has "slowly" in it, in milliseconds. Default: as long as anything else. */
  readonly slowlyMs?: number;
  /** Whether it fails at what has "break" in it. */
  readonly breaks?: boolean;
  /** While there is a file of this path, it says "Goodbye". */
  readonly badWhileThereIs?: string;
}

/** Writes the agent's whole source into a folder. */
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
}: SmallAgent): string {
  return `
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { END, MessagesAnnotation, START, StateGraph } from '${import.meta.resolve('@langchain/langgraph')}';

while (existsSync(${JSON.stringify(waitsWhileThereIs)})) await sleep(50);

async function answer({ messages }) {
  const question = String(messages.at(-1)?.content ?? '');
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
