import { rootCertificates } from 'node:tls';

import { describe, expect, it } from 'vitest';

import { certificateExpiry, measureExpiry, tokenExpiry } from '../../src/metrics/credentialExpiry.ts';

const token = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

describe('the expiry of a credential', () => {
  it('is read from a certificate', () => {
    const [pem = ''] = rootCertificates;
    expect(certificateExpiry(Buffer.from(pem))).toBeGreaterThan(Date.parse('2025-01-01') / 1_000);
  });

  it('is read from a key that is a JWT', () => {
    expect(tokenExpiry(token({ exp: 1_900_000_000 }))).toBe(1_900_000_000);
  });

  it.each(['', 'plain-key', token({ exp: 'soon' }), token([])])('is unknown for %j', (key) => {
    expect(tokenExpiry(key)).toBeUndefined();
    expect(certificateExpiry(Buffer.from(key))).toBeUndefined();
  });

  it('is exported only if it is known, without the credential', () => {
    const measured: unknown[] = [];
    const apiKey = token({ exp: 1_900_000_000 });
    const settings = { connectionOptions: { apiKey, address: 'x:1', tls: true } };
    measureExpiry((...all) => measured.push(all), settings as never);
    expect(measured).toEqual([['slipway_temporal_api_key_expiry_timestamp_seconds', 1_900_000_000, {}]]);
  });
});
