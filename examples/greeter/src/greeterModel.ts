import { setTimeout as sleep } from 'node:timers/promises';

import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage, isHumanMessage, isToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

const TOKEN_EVERY_MS = 10;

/**
 * A chat model without a model: it reads a name and a language out of what was said, calls the tool for any language,
 * and streams its answer word by word, as a real one would.
 */
export class GreeterModel extends BaseChatModel {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return 'greeter';
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of answerTo(messages)) {
      await sleep(TOKEN_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal });
      const text = typeof message.content === 'string' ? message.content : '';
      const chunk = new ChatGenerationChunk({ text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  override async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    let whole: ChatGenerationChunk | undefined;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager)) {
      whole = whole === undefined ? chunk : whole.concat(chunk);
    }
    return { generations: whole === undefined ? [] : [whole] };
  }
}

function answerTo(messages: readonly BaseMessage[]): AIMessageChunk[] {
  const said = textOf(messages.findLast((message) => isHumanMessage(message)));
  const name = /(?:I am|I'm|my name is|hello to|greet)\s+(?<name>\p{Lu}[\p{L}-]*)/u.exec(said)?.groups?.[
    'name'
  ];
  const language = /\bin (?<language>\p{Lu}\p{L}+)/u.exec(said)?.groups?.['language'];
  const last = messages.at(-1);
  if (last !== undefined && isToolMessage(last)) return words(greeting(textOf(last), name));
  if (language !== undefined) return [toolCall(language)];
  return words(greeting('Hello', name));
}

function greeting(hello: string, name: string | undefined): string {
  return name === undefined ? `${hello}! What is your name?` : `${hello}, ${name}! It is good to meet you.`;
}

/** One chunk for each word, with the space before it. */
function words(text: string): AIMessageChunk[] {
  return text.split(/(?= )/).map((content) => new AIMessageChunk({ content }));
}

function toolCall(language: string): AIMessageChunk {
  const call = { name: 'greeting_in', args: JSON.stringify({ language }), id: 'call_greeting_in', index: 0 };
  return new AIMessageChunk({ content: '', tool_call_chunks: [{ ...call, type: 'tool_call_chunk' }] });
}

function textOf(message: BaseMessage | undefined): string {
  return typeof message?.content === 'string' ? message.content : '';
}
