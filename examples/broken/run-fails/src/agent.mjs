import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

// What broke: every run ends in an error.
const greet = () => {
  throw new Error('The phrase book has no page 1');
};

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('greet', greet)
  .addEdge(START, 'greet')
  .addEdge('greet', END)
  .compile();
