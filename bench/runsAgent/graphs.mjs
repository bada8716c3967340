import { setTimeout as delay } from 'node:timers/promises';

import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  beganAt: Annotation(),
  ms: Annotation(),
  events: Annotation(),
});

const ofOneNode = (work) =>
  new StateGraph(State).addNode('node', work).addEdge(START, 'node').addEdge('node', END).compile();

/** Returns its start time, in milliseconds since the epoch, with fractions. */
export const stamp = ofOneNode(() => ({ beganAt: performance.timeOrigin + performance.now() }));

/** Waits the given number of milliseconds. */
export const wait = ofOneNode(async (state, config) => {
  await delay(state.ms, undefined, { signal: config.signal });
  return { ms: 0 };
});

/** Sends the given number of numbered events, with a pause after every tenth. */
export const count = ofOneNode(async (state, config) => {
  for (let number = 0; number < state.events; number++) {
    config.writer?.({ number });
    if (number % 10 === 9) await delay(1);
  }
  return { events: 0 };
});
