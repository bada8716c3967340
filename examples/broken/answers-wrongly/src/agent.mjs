import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

// What broke: the name is no longer read out of what was said.
const greet = () => ({ messages: [new AIMessage('Hello, stranger! It is good to meet you.')] });

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('greet', greet)
  .addEdge(START, 'greet')
  .addEdge('greet', END)
  .compile();
