import { z } from 'zod';

import { Count, event, ExitCode } from './fields.ts';

export const Part = event('part', 'a part begins', { title: z.string(), elapsedMs: Count });

export const Answer = event('answer', 'the agent was asked, and answered', {
  revisionId: z.string(),
  agentUrl: z.string(),
  question: z.string(),
  answer: z.string(),
});

export const DemoEnded = event('ended', '`demo`: the last one', {
  outcome: z.literal('released'),
  released: z.string().nullable().describe('The revision that was released'),
  failed: z.string().nullable().describe('The revision whose check failed'),
  restored: z.string().describe('The revision that serves again'),
  answer: z.string(),
  elapsedMs: Count,
  exitCode: ExitCode,
});
