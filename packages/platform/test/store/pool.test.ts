import { expect, it, vi } from 'vitest';

import { createPool } from '../../src/store/pool.ts';
import { emptyDatabaseUrl } from '../testDatabase.ts';

it('a connection that breaks between two queries of its user does not end the process', async () => {
  const pool = createPool({ connectionString: await emptyDatabaseUrl(), max: 2 }, (error) => {
    throw error;
  });
  const used = await pool.connect();
  const broken = vi.fn<(error: Error) => void>();
  const { rows } = await used.query<{ pid: number }>('select pg_backend_pid() as pid');
  used.once('end', () => broken(new Error('ended')));
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await vi.waitFor(() => expect(broken).toHaveBeenCalled(), 10_000);
  await expect(used.query('select 1')).rejects.toThrow();
  used.release(true);
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});
