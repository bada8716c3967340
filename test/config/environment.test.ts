import { describe, expect, it } from 'vitest';

import { readDashboardUrl } from '../../src/config/environment.ts';

function read(text: string): string | undefined {
  return readDashboardUrl({ SLIPWAY_DASHBOARD_URL: text })?.origin;
}

describe('the address of the dashboard', () => {
  it.each([
    ['https://slipway.example.com/', 'https://slipway.example.com'],
    [' https://slipway.example.com:8443 ', 'https://slipway.example.com:8443'],
    ['http://127.0.0.1:4701', 'http://127.0.0.1:4701'],
    ['http://[::1]:4701', 'http://[::1]:4701'],
  ])('%j is %s', (text, origin) => expect(read(text)).toBe(origin));

  it.each(['', '  '])('%j is absent', (text) => expect(read(text)).toBeUndefined());

  it('is absent by default', () => expect(readDashboardUrl({})).toBeUndefined());

  it.each([
    ['slipway.example.com', 'not an https address'],
    ['http://slipway.example.com', 'not an https address'],
    ['javascript:alert(1)', 'not an https address'],
    ['https://example.com/slipway', 'has a path'],
    ['https://example.com/?a=b', 'has a path'],
    ['https://example.com/#a', 'has a path'],
  ])('%j is rejected: %s', (text, why) =>
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: 'SLIPWAY_USAGE', message: expect.stringContaining(why) }) as Error,
    ),
  );
});
