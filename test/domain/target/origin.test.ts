import { expect, it } from 'vitest';

import { isOrigin, isWithin, originProblem, originText } from '../../../src/domain/target/origin.ts';

it.each([
  ['https://*.agents.example.com', undefined],
  ['https://one.vercel.app', undefined],
  ['https://*.team.vercel.app', undefined],
  ['http://127.0.0.1:4700', undefined],
  ['http://[::1]:4700', undefined],
  ['https://[fd00::7]:8443', undefined],
  ['http://[fd00::7]', 'without encryption'],
  ['https://*.vercel.app', 'customers of vercel.app'],
  ['https://*.europe-west1.run.app', 'customers of run.app'],
  ['https://*.com', 'below com'],
  ['http://agents.example.com', 'without encryption'],
])('of the origin %s it reports the risk: %s', (origin, problem) => {
  const found = originProblem(origin);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

it.each(['https://[fd00::7]:8443', 'http://[::1]', 'https://*.example.com:8443', 'http://10.0.0.7'])(
  'an origin is %s',
  (origin) => {
    expect(isOrigin(origin)).toBe(true);
  },
);

it.each(['https://[fd00::7', 'https://[::::]', 'https://*.[::1]', 'https://a:99999', 'https://10.0.0.256'])(
  'no origin is %s',
  (text) => {
    expect(isOrigin(text)).toBe(false);
  },
);

it('an address is within its origin, however an IPv6 address is written', () => {
  expect(isWithin('https://[fd00:0::7]:8443/api', 'https://[FD00::7]:8443')).toBe(true);
  expect(isWithin('https://[fd00::8]:8443', 'https://[fd00::7]:8443')).toBe(false);
});

it('an origin with a wildcard is shown in words', () => {
  expect(originText('https://*.example.com')).toBe('every https host below example.com');
  expect(originText('https://example.com:8443')).toBe('https://example.com:8443');
});
