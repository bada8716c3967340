import { rm } from 'node:fs/promises';

import { expect, it, onTestFinished, vi } from 'vitest';

import { openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { createLogger } from '../../src/http/logger.ts';
import { openEmbeddedPostgres } from '../../src/store/embeddedPostgres.ts';
import { preparedHome } from '../../../../test/support/preparedHome.ts';

const PASSWORD = 'hunter2-hunter2';

function logInto(lines: string[]) {
  return createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } });
}

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

it('what hangs on an error, and the user of an address in its text, stay out of the log', () => {
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

it('a database connection that breaks is logged without the password and without the client', async () => {
  const home = await preparedHome('slipway-logged-');
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const embedded = await openEmbeddedPostgres(home, () => undefined);
  const password = new URL(embedded.connectionString).password;
  expect(password).not.toBe('');
  const lines: string[] = [];
  const log = logInto(lines);
  const database = await openAgentDatabase(embedded.connectionString, (error) =>
    log.warn({ err: error }, 'a database connection broke'),
  );
  await embedded.close();
  await vi.waitFor(() => expect(lines).not.toEqual([]));
  await database.close();
  for (const line of lines) {
    expect(line).not.toContain(password);
    expect(JSON.parse(line)).not.toHaveProperty('err.client');
  }
});
