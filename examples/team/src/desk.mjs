import { AIMessage, isToolMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';

import { timetable } from './timetable.mjs';

/** A model without a provider: it reads the city from the question, calls the tool, and answers with what it returned. */
function model({ messages }) {
  const last = messages.at(-1);
  const city = /\bto (?<city>\p{Lu}\p{L}+)/u.exec(lastQuestion(messages))?.groups.city;
  if (city === undefined) return says('Where would you like to go?');
  if (!isToolMessage(last))
    return calls({ name: 'timetable', args: { city }, id: `call-${messages.length}` });
  if (last.content === 'none') return says(`There is no train to ${city} today.`);
  return says(`The next train to ${city} leaves at ${last.content}. Have a good journey!`);
}

const calls = (call) => ({
  messages: [new AIMessage({ content: '', tool_calls: [call], usage_metadata: TOKENS })],
});
const says = (content) => ({ messages: [new AIMessage({ content, usage_metadata: TOKENS })] });
const TOKENS = { input_tokens: 40, output_tokens: 20, total_tokens: 60 };

function lastQuestion(messages) {
  return messages.findLast((message) => message.getType() === 'human')?.text ?? '';
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', model)
  .addNode('tools', new ToolNode([timetable]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'model')
  .compile({ name: 'desk' });
