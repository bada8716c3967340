import { expect, it } from 'vitest';

import { pythonGraphOf } from '../src/pythonAgent.ts';

it.each([
  ['a file', { graphs: { agent: './src/agent.py:graph' } }, 'agent'],
  ['a file in the longer form', { graphs: { a: './a.ts:a', b: { path: './b.py:graph' } } }, 'b'],
  [
    'a module beside dependencies',
    { dependencies: ['.'], graphs: { agent: 'my_agent.agent:graph' } },
    'agent',
  ],
  ['a module beside a version of Python', { python_version: '3.12', graphs: { a: 'm:graph' } }, 'a'],
  ['JavaScript', { graphs: { agent: './agent.mjs:graph' } }, undefined],
  [
    'TypeScript beside dependencies',
    { dependencies: ['.'], graphs: { agent: './agent.ts:graph' } },
    undefined,
  ],
  ['a module alone', { graphs: { agent: 'x:graph' } }, undefined],
  ['no graph configuration', ['graphs'], undefined],
])('the Python graph in %s is found', (_, config, name) => {
  expect(pythonGraphOf(config)?.name).toBe(name);
});
