import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { resolveSecret } from '../../src/config/secretReference.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

describe('a reference to a secret', () => {
  it('becomes the value of the environment variable', () => {
    expect(resolveSecret({ from: 'env:KEY' }, { KEY: 'value' })).toBe('value');
  });

  it('becomes the content of the file, without its last line end', async () => {
    const file = join(await temporaryFolder(), 'key');
    await writeFile(file, 'value\n');
    expect(resolveSecret({ from: `file:${file}` })).toBe('value');
  });

  it('that is not set is reported by its name', () => {
    expect(() => resolveSecret({ from: 'env:KEY' }, {})).toThrow(
      expect.objectContaining({
        message: 'the secret "env:KEY" is not set',
        hint: 'set KEY where it is read: in the worker’s environment for a release, else in this command’s',
      }),
    );
    expect(() => resolveSecret({ from: 'env:KEY' }, { KEY: '' })).toThrow('the secret "env:KEY" is not set');
    expect(() => resolveSecret({ from: 'file:/nowhere/key' })).toThrow('could not be read');
  });

  it('that is invalid is never repeated', () => {
    expect(() => resolveSecret({ from: 'sk-very-secret' })).toThrow(/^(?!.*sk-very-secret)/);
  });
});
