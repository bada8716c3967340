import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readSecretOrigins, secretAddress, secretFor } from '../../src/config/secretOrigins.ts';

const PLANE = 'https://plane.example.com/api';

function withFile(content: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-origins-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'origins.yaml');
  writeFileSync(file, content);
  return {
    SLIPWAY_SECRET_ORIGINS: file,
    KEY: 'value',
    OTHER: 'other',
    HOOK: 'https://hooks.example.com/T0/secret',
  };
}

const FILE = `
env:KEY: ['https://plane.example.com', 'https://*.agents.example.com']
env:HOOK: ['https://hooks.example.com']
`;

describe('a secret', () => {
  it('may be sent anywhere without a file of origins', () => {
    expect(secretFor({ from: 'env:KEY' }, PLANE, { environment: { KEY: 'value' } })).toBe('value');
  });

  it.each([PLANE, 'https://one.agents.example.com', 'https://a.b.agents.example.com:443/runs'])(
    'may be sent to %s, which the file lists',
    (url) => {
      expect(secretFor({ from: 'env:KEY' }, url, { environment: withFile(FILE) })).toBe('value');
    },
  );

  it.each([
    'http://plane.example.com',
    'https://plane.example.com:8443',
    'https://plane.example.com.evil.example',
    'https://agents.example.com',
    'https://evilagents.example.com',
    'https://plane.example.com@evil.example',
    'no address',
  ])('must not be sent to %s', (url) => {
    const send = () => secretFor({ from: 'env:KEY' }, url, { environment: withFile(FILE), shown: 'there' });
    expect(send).toThrow('the secret "env:KEY" must not be sent to there');
  });

  it('that is absent from the file must not be sent anywhere', () => {
    const environment = withFile(FILE);
    expect(() => secretFor({ from: 'env:OTHER' }, PLANE, { environment })).toThrow(
      expect.objectContaining({ code: 'SLIPWAY_SECRET_REFUSED' }),
    );
    expect(() => secretFor({ from: 'env:toString' }, PLANE, { environment })).toThrow('must not be sent');
  });

  it('that is an address may be sent only to its own origin, and no error shows it', () => {
    const environment = withFile(FILE);
    expect(secretAddress({ from: 'env:HOOK' }, environment)).toBe(environment['HOOK']);
    const elsewhere = { ...environment, HOOK: 'https://evil.example/T0/secret' };
    expect(() => secretAddress({ from: 'env:HOOK' }, elsewhere)).toThrow(/^(?!.*evil).*must not be sent/);
    expect(() => secretAddress({ from: 'env:OTHER' }, environment)).toThrow(
      'must not be sent to any address',
    );
  });
});

describe('the file of origins', () => {
  it.each([
    ['a secret in place of a reference', 'sk-very-secret: [https://plane.example.com]'],
    ['an origin with a path', "env:KEY: ['https://plane.example.com/api']"],
    ['a list', '- env:KEY'],
  ])('with %s is rejected by name', (_, content) => {
    const environment = withFile(content);
    expect(() => readSecretOrigins(environment)).toThrow(
      expect.objectContaining({
        code: 'SLIPWAY_CONFIG_INVALID',
        place: environment['SLIPWAY_SECRET_ORIGINS'],
      }),
    );
  });

  it('that does not exist stops the process instead of allowing everything', () => {
    expect(() => readSecretOrigins({ SLIPWAY_SECRET_ORIGINS: '/nowhere/origins.yaml' })).toThrow('ENOENT');
  });
});
