import { errorText } from '@slipway/contract/codedError';
import type { TestProject } from 'vitest/node';

import { startRealPostgres } from './realPostgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The real PostgreSQL server of the project `postgres`, or why there is none and its tests are skipped. */
    postgres: { readonly url: string } | { readonly unavailable: string };
  }
}

/**
 * One real PostgreSQL server for all tests of the project: the one of `TEST_DATABASE_URL`, whose user must be able to
 * create databases, else one that is started here.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined && given !== '') {
    project.provide('postgres', { url: given });
    return () => Promise.resolve();
  }
  try {
    const server = await startRealPostgres();
    project.provide('postgres', { url: server.url });
    return () => server.close();
  } catch (error) {
    const unavailable = errorText(error);
    process.stdout.write(
      `The tests on PostgreSQL are skipped: no server could be started (${unavailable}), and TEST_DATABASE_URL is not set.\n`,
    );
    project.provide('postgres', { unavailable });
    return () => Promise.resolve();
  }
}
