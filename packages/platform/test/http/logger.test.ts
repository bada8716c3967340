import { afterEach, expect, it, vi } from 'vitest';

import { createLogger } from '../../src/http/logger.ts';

const PASSWORD = 'hunter2-hunter2';

function logInto(lines: string[]) {
  return createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } });
}

afterEach(() => vi.unstubAllEnvs());

it.each([
  ['warn', 'warn'],
  ['silent', 'silent'],
  ['', 'info'],
])('the level %j of the environment is %s', (value, level) => {
  vi.stubEnv('SLIPWAY_LOG_LEVEL', value);
  expect(createLogger().level).toBe(level);
});

it('another level in the environment is an error that names the variable', () => {
  vi.stubEnv('SLIPWAY_LOG_LEVEL', 'loud');
  expect(() => createLogger()).toThrow('SLIPWAY_LOG_LEVEL is "loud", not trace, debug');
});

it('an error is logged with its name, message, code and causes', () => {
  const lines: string[] = [];
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  logInto(lines).error({ err: new TypeError('no answer', { cause }) }, 'it broke');
  const { err } = JSON.parse(lines[0]!) as { err: Record<string, unknown> };
  expect(err).toMatchObject({
    type: 'TypeError',
    message: 'no answer',
    cause: { type: 'Error', message: 'refused', code: 'ECONNREFUSED' },
  });
  expect(err['stack']).toContain('logger.test');
});

it('fields of an error, and the user in an address, stay out of the log', () => {
  const lines: string[] = [];
  const url = `postgres://slipway:${PASSWORD}@127.0.0.1:5432/postgres`;
  const error = Object.assign(new Error(`${url} is down`), {
    client: { connectionString: url, deeper: { still: { password: PASSWORD } } },
    input: url,
  });
  const log = logInto(lines);
  log.warn({ err: error }, 'a database connection broke');
  log.warn({ err: new Error('outer', { cause: error }) }, 'a database connection broke');
  log.warn({ err: url }, 'a database connection broke');
  expect(lines.join('')).not.toContain(PASSWORD);
  expect(lines[0]).toContain('postgres://[redacted]@127.0.0.1:5432/postgres is down');
});
