import { setTimeout as sleep } from 'node:timers/promises';

import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** The checks allow five seconds. */
export const TAKES_MS = 6_000;

// What broke: the answer is right, and comes too late.
const greet = async (state, config) => {
  await sleep(TAKES_MS, undefined, { signal: config.signal });
  const name = /I am (\w+)/.exec(state.messages.at(-1).text)?.[1] ?? 'you';
  return { messages: [new AIMessage(`Hello, ${name}! It is good to meet you.`)] };
};

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('greet', greet)
  .addEdge(START, 'greet')
  .addEdge('greet', END)
  .compile();
