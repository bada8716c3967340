import { createHash } from 'node:crypto';

import pg from 'pg';

/** How many statements a connection keeps prepared: the server's own are some dozens, made of fixed texts. */
const PREPARED_MAX = 200;

/**
 * A connection that has its statements prepared: what is sent with parameters is parsed and planned once, not each time.
 * Measured on the embedded database: beginning a run and storing a checkpoint take less than half of the processor.
 *
 * A pooler between here and Postgres has to know prepared statements (PgBouncer does from 1.21 on).
 */
export class PreparingClient extends pg.Client {
  readonly #names = new Map<string, string>();

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const send = super.query.bind(this) as (...args: unknown[]) => unknown;
    // One of many signatures: a text with its values is what the pool, Kysely and the saver send.
    this.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
      if (typeof text !== 'string' || !Array.isArray(values)) return send(text, values, ...rest);
      const name = this.#nameOf(text);
      return name === undefined ? send(text, values, ...rest) : send({ name, text, values }, ...rest);
    }) as typeof this.query;
  }

  /** `undefined` once the connection keeps as many as it may: texts that are made up each time would fill it. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = createHash('sha1').update(text).digest('hex');
    this.#names.set(text, name);
    return name;
  }
}
