import { tool } from '@langchain/core/tools';

const GREETINGS: Readonly<Record<string, string>> = {
  english: 'Hello',
  french: 'Bonjour',
  german: 'Guten Tag',
  italian: 'Buongiorno',
  spanish: 'Buenos días',
};

/** A tool: the greeting of a language. */
export const greetingIn = tool(
  (input: unknown): string => {
    const { language } = input as { language: string };
    return GREETINGS[language.toLowerCase()] ?? `(no greeting is known in ${language})`;
  },
  {
    name: 'greeting_in',
    description: 'The greeting of a language',
    schema: {
      type: 'object',
      properties: { language: { type: 'string', description: 'The name of the language, in English' } },
      required: ['language'],
    },
  },
);
