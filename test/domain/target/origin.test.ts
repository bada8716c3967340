import { expect, it } from 'vitest';

import { originProblem, originText } from '../../../src/domain/target/origin.ts';

it.each([
  ['https://*.agents.example.com', undefined],
  ['https://one.vercel.app', undefined],
  ['https://*.team.vercel.app', undefined],
  ['http://127.0.0.1:4700', undefined],
  ['https://*.vercel.app', 'customers of vercel.app'],
  ['https://*.europe-west1.run.app', 'customers of run.app'],
  ['https://*.com', 'below com'],
  ['http://agents.example.com', 'without encryption'],
])('of the origin %s it reports the risk: %s', (origin, problem) => {
  const found = originProblem(origin);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

it('an origin with a wildcard is shown in words', () => {
  expect(originText('https://*.example.com')).toBe('every https host below example.com');
  expect(originText('https://example.com:8443')).toBe('https://example.com:8443');
});
