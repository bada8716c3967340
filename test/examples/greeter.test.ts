import { Command, MemorySaver } from '@langchain/langgraph';
import { describe, expect, it } from 'vitest';

import { graph } from '../../examples/greeter/src/agent.ts';

describe('the greeter', () => {
  it('greets by name', async () => {
    expect(await lastAnswer('Hello, I am Ada')).toBe('Hello, Ada! It is good to meet you.');
  });

  it('asks for the name if none was given', async () => {
    expect(await lastAnswer('Good morning')).toBe('Hello! What is your name?');
  });

  it('calls its tool for another language', async () => {
    const { messages } = await graph.invoke({ messages: [said('Say hello to Ada in French')] });
    expect(messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool', 'ai']);
    expect(messages.at(-1)?.content).toBe('Bonjour, Ada! It is good to meet you.');
  });

  it('streams its answer word by word, from within its subgraph', async () => {
    const stream = await graph.stream(
      { messages: [said('Hello, I am Ada')] },
      { streamMode: ['messages', 'updates'], subgraphs: true },
    );
    const words: unknown[] = [];
    const namespaces = new Set<string | undefined>();
    for await (const [[namespace], mode, data] of stream) {
      namespaces.add(namespace?.split(':')[0]);
      if (mode === 'messages') words.push(data[0].content);
    }
    expect(words.filter((word) => word !== '').slice(0, 3)).toEqual(['Hello,', ' Ada!', ' It']);
    expect(namespaces).toEqual(new Set([undefined, 'conversation']));
  });

  it.each([
    ['yes', 'Hello, Ada! It is good to meet you.'],
    ['no', 'All right, I say nothing.'],
  ])('asks first on request, and follows the answer: %s', async (answer, said) => {
    const saved = Object.assign(Object.create(graph) as typeof graph, { checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: answer } };
    const asked = await saved.invoke({ messages: [question()] }, config);
    expect(asked).toMatchObject({ __interrupt__: [{ value: { question: 'May I greet them?' } }] });
    const { messages } = await saved.invoke(new Command({ resume: answer }), config);
    expect(messages.at(-1)?.content).toBe(said);
  });
});

function said(content: string): { role: 'user'; content: string } {
  return { role: 'user', content };
}

function question(): { role: 'user'; content: string } {
  return said('Say hello to Ada, but ask me first');
}

async function lastAnswer(content: string): Promise<unknown> {
  const { messages } = await graph.invoke({ messages: [said(content)] });
  return messages.at(-1)?.content;
}
