import { describe, expect, it } from 'vitest';

import { createUploadTokens, UPLOAD_URL_MS } from '../../src/controlPlane/uploadTokens.ts';

const GRANT = {
  objectPath: 'tarballs/a',
  contentLength: null,
  askedBy: { keyId: 'a key', keyName: 'its name' },
};
const tokens = createUploadTokens(Buffer.alloc(32, 1));

describe('an upload token', () => {
  it('is good for its one object path and length', () => {
    for (const contentLength of [null, 42]) {
      const grant = { ...GRANT, contentLength };
      expect(tokens.read(tokens.sign(grant))).toEqual({ ok: true, grant });
    }
  });

  it('expires after an hour', () => {
    const token = tokens.sign(GRANT, 1_000);
    expect(tokens.read(token, 1_000 + UPLOAD_URL_MS - 1).ok).toBe(true);
    expect(tokens.read(token, 1_000 + UPLOAD_URL_MS)).toEqual({ ok: false, why: 'expired' });
  });

  it('cannot be changed, cut, or signed with another key', () => {
    const [payload = '', signature = ''] = tokens.sign(GRANT).split('.');
    const other = Buffer.from(JSON.stringify(['tarballs/b', Date.now() + 1e6])).toString('base64url');
    const foreign = createUploadTokens(Buffer.alloc(32, 2)).sign(GRANT);
    for (const token of [
      `${other}.${signature}`,
      payload,
      `${payload}.`,
      `.${signature}`,
      '',
      '..',
      foreign,
      // A lenient decoder takes these for the signature.
      `${payload}.${signature}=`,
      `${payload}.${signature}.${signature}`,
      `${payload}.${signature.slice(0, 5)}!${signature.slice(5)}`,
    ]) {
      expect(tokens.read(token)).toEqual({ ok: false, why: 'invalid' });
    }
  });
});
