import pg from 'pg';

/**
 * Creates a pool whose connections may break at any time without ending the process. The pool itself listens only to
 * idle connections. One that is in use breaks with its query, or silently if it breaks between two of them.
 * @param onError - called for broken idle connections, which the pool replaces.
 */
export function createPool(options: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool(options);
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
