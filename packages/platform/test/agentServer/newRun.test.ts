import { RunCreate } from '@slipway/contract/runApi/run';
import { describe, expect, it } from 'vitest';

import { marksOf, planRun } from '../../src/agentServer/runs/newRun.ts';

const assistant = {
  assistant_id: crypto.randomUUID(),
  graph_id: 'echo',
  name: 'echo',
  description: null,
  config: { metadata: { of: 'the assistant', team: 'a' } },
  context: {},
  metadata: {},
  version: 1,
  created_at: new Date(0),
  updated_at: new Date(0),
};

describe('a run that waits', () => {
  it.each([
    { metadata: { team: 'run' }, config: { metadata: { team: 'config' } } },
    { metadata: { team: 'same' }, config: { metadata: { team: 'same', created_by: 'me' } } },
    { metadata: { of: 'the run' }, config: { configurable: { user_id: '' } } },
    { metadata: { of: 'the run' }, config: { configurable: { graph_id: 'other' }, tags: ['t'] } },
  ])('gives its thread what it would give it at once: %j', (asked) => {
    const body = RunCreate.parse({ assistant_id: 'echo', ...asked });
    const { newRun } = planRun({ body, query: {}, assistant, threadId: 'thread', runSeconds: 60 });
    const kwargs = JSON.parse(JSON.stringify(newRun.kwargs)) as typeof newRun.kwargs;
    const later = marksOf({ kwargs, assistant_id: newRun.assistantId });
    expect(later).toEqual(newRun.marks);
    const { metadata } = JSON.parse(later.config) as { metadata: object };
    expect(metadata).toEqual({ ...assistant.config.metadata, ...asked.config.metadata });
  });
});
