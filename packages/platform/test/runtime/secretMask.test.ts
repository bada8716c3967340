import { describe, expect, it } from 'vitest';
import { createSecretMask } from '../../src/runtime/secretMask.ts';

describe('a secret in a line of output', () => {
  it('is masked wherever it stands', () => {
    const mask = createSecretMask(['sk-live-1', 'hunter22']);
    expect(mask('key=sk-live-1, again sk-live-1; password hunter22.')).toBe(
      'key=***, again ***; password ***.',
    );
  });

  it('is masked whole when it contains another', () => {
    expect(createSecretMask(['token', 'token-and-more'])('token-and-more')).toBe('***');
  });

  it('is masked as JSON and as part of a URL', () => {
    const mask = createSecretMask(['a"b\\c/d e']);
    expect(mask(JSON.stringify({ key: 'a"b\\c/d e' }))).toBe('{"key":"***"}');
    expect(mask(`https://x.test/?k=${encodeURIComponent('a"b\\c/d e')}`)).toBe('https://x.test/?k=***');
  });

  it('is masked line by line when it has several lines', () => {
    const mask = createSecretMask(['-----BEGIN-----\nMIIEabc\n-----END-----']);
    expect(mask('  MIIEabc')).toBe('  ***');
  });

  it('is masked when it is the password of a URL', () => {
    const mask = createSecretMask(['postgres://agent:p%40ssword@db/agents']);
    expect(mask('no pg_hba entry for p@ssword (p%40ssword)')).toBe('no pg_hba entry for *** (***)');
  });

  it('is not taken for a pattern', () => {
    expect(createSecretMask(['a.*b+'])('axxb a.*b+')).toBe('axxb ***');
  });

  it('leaves no beginning of itself where the line was cut', () => {
    const mask = createSecretMask(['0123456789']);
    expect(mask('the key is 01234567', true)).not.toContain('012');
  });

  it('may be long, and one of many', () => {
    const mask = createSecretMask([
      ...Array.from({ length: 300 }, (_, i) => `s${i} `.repeat(4_000)),
      'hunter22',
    ]);
    expect(mask('password hunter22')).toBe('password ***');
  });

  it('is left alone when it is too short to be one', () => {
    expect(createSecretMask(['on', '1'])('on port 1')).toBe('on port 1');
  });
});
