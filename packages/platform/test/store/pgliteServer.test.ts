import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { servePglite, type PgliteServer } from '../../src/store/pgliteServer.ts';

let db: PGlite;
let server: PgliteServer;
let url: string;

beforeAll(async () => {
  db = await PGlite.create();
  server = await servePglite({ db, password: 'pass' });
  url = `postgres://postgres:pass@127.0.0.1:${server.port}/postgres?sslmode=disable`;
  await db.exec('create table rows (id int primary key, worker int)');
});

afterAll(async () => {
  await server.close();
  await db.close();
});

async function connected(connectionString = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => client.removeAllListeners('error').on('error', () => undefined));
  await client.connect();
  return client;
}

describe('the embedded database, served to several connections', () => {
  it('rejects a wrong password', async () => {
    await expect(connected(url.replace(':pass@', ':guess@'))).rejects.toThrow(
      'password authentication failed',
    );
  });

  it('returns to each of many concurrent clients its own rows, through errors, transactions and dead clients', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 8 });
    pool.on('error', () => undefined);
    const queries = async (worker: number): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const { rows } = await pool.query<{ v: number; t: string }>('select $1::int as v, $2::text as t', [
          i,
          'x'.repeat(worker * 3_000),
        ]);
        expect(rows[0]).toEqual({ v: i, t: 'x'.repeat(worker * 3_000) });
        await expect(pool.query('select $1::int / 0', [i])).rejects.toThrow('division by zero');
      }
    };
    const transactions = async (worker: number): Promise<void> => {
      for (let i = 0; i < 30; i++) {
        const client = await pool.connect();
        await client.query('begin');
        await client.query('insert into rows values ($1, $2)', [worker * 1_000 + i, worker]);
        const { rows } = await client.query<{ n: number }>(
          'select count(*)::int as n from rows where worker = $1',
          [worker],
        );
        expect(rows[0]?.n).toBe(Math.ceil(i / 2) + 1);
        await client.query(i % 2 === 0 ? 'commit' : 'rollback');
        client.release();
      }
    };
    const named = async (worker: number): Promise<void> => {
      const client = await connected();
      for (let i = 0; i < 40; i++) {
        // The same name stands for another statement on each connection.
        const { rows } = await client.query<{ w: number; v: number }>({
          name: 'same',
          text: `select ${worker} as w, $1::int as v`,
          values: [i],
        });
        expect(rows[0]).toEqual({ w: worker, v: i });
      }
      await client.end();
    };
    const dying = async (worker: number): Promise<void> => {
      for (let i = 0; i < 15; i++) {
        const client = await connected();
        await client.query('begin');
        await client.query('insert into rows values ($1, $2)', [worker * 1_000 + i, worker]);
        (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      }
    };
    await Promise.all([
      queries(1),
      queries(9),
      transactions(2),
      transactions(3),
      named(4),
      named(5),
      dying(6),
      dying(7),
    ]);
    const { rows } = await pool.query(
      'select worker, count(*)::int as n from rows group by worker order by worker',
    );
    expect(rows).toEqual([
      { worker: 2, n: 15 },
      { worker: 3, n: 15 },
    ]);
    await pool.end();
  });

  it('disconnects a client that stops inside a transaction, so that the others continue', async () => {
    const impatient = await servePglite({ db, password: 'pass', idleInTransactionMs: 300 });
    const address = url.replace(String(server.port), String(impatient.port));
    const stuck = await connected(address);
    const other = await connected(address);
    const cut = new Promise<Error>((resolve) => stuck.once('error', resolve));
    await stuck.query('begin');
    await stuck.query('insert into rows values (-1, -1)');
    const { rows } = await other.query('select * from rows where id = -1');
    expect(rows).toEqual([]);
    expect((await cut).message).toContain('idle in a transaction');
    await other.end();
    await impatient.close();
  });

  it('rejects COPY FROM STDIN, which would block its engine', async () => {
    const client = await connected();
    await expect(client.query('copy rows (id) from stdin')).rejects.toThrow('not served');
    const other = await connected();
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('copies a large message only a few times, in however many parts it arrives', async () => {
    const client = await connected();
    const concat = vi.spyOn(Buffer, 'concat');
    const value = 'x'.repeat(8 * 1_048_576);
    const { rows } = await client.query('select length($1) as n', [value]);
    const copied = concat.mock.results.reduce((sum, { value: made }) => sum + (made as Buffer).length, 0);
    concat.mockRestore();
    expect(rows).toEqual([{ n: value.length }]);
    expect(copied).toBeLessThan(5 * value.length);
    await client.end();
  });

  it('accepts messages in any pieces, and rejects malformed ones', async () => {
    const client = await connected();
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    const write = stream.write.bind(stream);
    stream.write = (data: Uint8Array | string): boolean => {
      for (const byte of Buffer.from(data)) write(Buffer.from([byte]));
      return true;
    };
    expect((await client.query('select $1::text as t', ['in pieces'])).rows).toEqual([{ t: 'in pieces' }]);
    await client.end();
    const stranger = connect(server.port, '127.0.0.1');
    stranger.write('GET / HTTP/1.1\r\n\r\n');
    stranger.resume();
    await once(stranger, 'close');
  });
});
