import { AIMessage, type BaseMessage, isAIMessage } from '@langchain/core/messages';
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';

import { greetingIn } from './greetingIn.ts';
import { GreeterModel } from './greeterModel.ts';

type State = typeof MessagesAnnotation.State;

const model = new GreeterModel();

async function callModel({ messages }: State, config: LangGraphRunnableConfig): Promise<Partial<State>> {
  return { messages: [await model.invoke(messages, config)] };
}

function wantsTool({ messages }: State): 'tools' | typeof END {
  const last = messages.at(-1);
  return last !== undefined && isAIMessage(last) && (last.tool_calls ?? []).length > 0 ? 'tools' : END;
}

/** The subgraph that answers: the model, and the tool as often as the model calls it. */
const conversation = new StateGraph(MessagesAnnotation)
  .addNode('model', callModel)
  .addNode('tools', new ToolNode([greetingIn]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', wantsTool, ['tools', END])
  .addEdge('tools', 'model')
  .compile();

/** Asks a person before anything is said. Resumed with anything but "yes" or true, the agent says nothing. */
function askFirst(): Partial<State> {
  const answer: unknown = interrupt({ question: 'May I greet them?' });
  const allowed = answer === true || answer === 'yes';
  return { messages: allowed ? [] : [new AIMessage('All right, I say nothing.')] };
}

function wantsToBeAsked({ messages }: State): 'askFirst' | 'conversation' {
  return /ask me first/i.test(textOf(messages.at(-1))) ? 'askFirst' : 'conversation';
}

function mayGreet({ messages }: State): 'conversation' | typeof END {
  const last = messages.at(-1);
  return last !== undefined && isAIMessage(last) ? END : 'conversation';
}

function textOf(message: BaseMessage | undefined): string {
  return typeof message?.content === 'string' ? message.content : '';
}

/** The agent. It asks first where it is told to, and otherwise answers at once. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('askFirst', askFirst)
  .addNode('conversation', conversation)
  .addConditionalEdges(START, wantsToBeAsked, ['askFirst', 'conversation'])
  .addConditionalEdges('askFirst', mayGreet, ['conversation', END])
  .addEdge('conversation', END)
  .compile({ name: 'greeter' });
