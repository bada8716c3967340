import { expect, it } from 'vitest';

import { createSecretMask } from '../../src/runtime/secretMask.ts';

const ODD = 'a"b\\c/d e';

it.each([
  ['wherever it stands', ['sk-live-1', 'hunter22'], 'sk-live-1, sk-live-1; hunter22.', '***, ***; ***.'],
  ['whole if it contains another', ['token', 'token-and-more'], 'token-and-more', '***'],
  ['as JSON', [ODD], JSON.stringify({ key: ODD }), '{"key":"***"}'],
  ['as part of a URL', [ODD], `https://x.test/?k=${encodeURIComponent(ODD)}`, 'https://x.test/?k=***'],
  ['line by line if it has several', ['-----BEGIN-----\nMIIEabc\n-----END-----'], '  MIIEabc', '  ***'],
  [
    'if it is the password of a URL',
    ['postgres://agent:p%40ssword@db/agents'],
    'no pg_hba entry for p@ssword (p%40ssword)',
    'no pg_hba entry for *** (***)',
  ],
  [
    'if it is a password that a URL should have encoded',
    ['postgres://agent:50%off@db/agents'],
    'no pg_hba entry for 50%off',
    'no pg_hba entry for ***',
  ],
  ['and not as a pattern', ['a.*b+'], 'axxb a.*b+', 'axxb ***'],
  [
    'if it is long, and one of many',
    [...Array.from({ length: 300 }, (_, i) => `s${i} `.repeat(4_000)), 'hunter22'],
    'password hunter22',
    'password ***',
  ],
  ['only if it is long enough to be one', ['on', '1'], 'on port 1', 'on port 1'],
])('a secret in a line of output is masked %s', (_, secrets, line, masked) => {
  expect(createSecretMask(secrets)(line)).toBe(masked);
});

it('a secret leaves no beginning of itself where the line was cut', () => {
  const mask = createSecretMask(['0123456789']);
  expect(mask('the key is 01234567', true)).not.toContain('012');
});
