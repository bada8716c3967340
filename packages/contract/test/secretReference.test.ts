import { describe, expect, it } from 'vitest';

import { readSecretReference, secretInFile } from '../src/secretReference.ts';

describe('a reference to a secret', () => {
  it.each([
    ['env:NAME', { variable: 'NAME' }],
    ['env:_a1', { variable: '_a1' }],
    ['file:/run/secrets/key', { file: '/run/secrets/key' }],
    ['file:C:\\secrets\\key', { file: 'C:\\secrets\\key' }],
  ])('%s names its place', (text, place) => {
    expect(readSecretReference(text)).toEqual(place);
  });

  it.each(['', 'sk-123', 'env:', 'env:1A', 'env:A B', 'file:key', 'file:', 'file:/', 'NAME'])(
    '%j is rejected',
    (text) => {
      expect(readSecretReference(text)).toBeUndefined();
    },
  );

  it('resolves to the content of a file without what editors add', () => {
    expect(['value', '\uFEFFvalue\r\n', 'value\n', 'value\r\n', 'two\nlines\n\n'].map(secretInFile)).toEqual([
      'value',
      'value',
      'value',
      'value',
      'two\nlines',
    ]);
  });
});
