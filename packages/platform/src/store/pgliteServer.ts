import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import type { PGlite } from '@electric-sql/pglite';

import { agentPassword, isAgentRole } from './agentRole.ts';
import { type TurnOwner, Turns } from './sessionTurns.ts';
import {
  askForPassword,
  closeStatement,
  fatalError,
  isCopyFromStdin,
  isPassword,
  missingBytes,
  readMessage,
  readStartup,
  renameStatement,
  startup,
  sync,
  userOf,
  type WireMessage,
} from './wireMessages.ts';

/** An embedded Postgres that serves other processes of this machine by the Postgres protocol. */
export interface PgliteServer {
  readonly port: number;
  /** Closes every connection; the database itself stays open. */
  close(): Promise<void>;
}

/** How long a connection may hold the database within a transaction, in milliseconds: all share one session. */
const IDLE_IN_TRANSACTION_MS = 15_000;

/**
 * Serves a PGlite to several connections on loopback. PGlite is one session, so connections take turns: a turn is
 * everything up to Sync (or one simple query), and continues while a transaction is open. docs/dependencies.md
 * explains why `@electric-sql/pglite-socket` is not used.
 *
 * Callers share `SET`, temporary tables, `LISTEN` and session advisory locks, but not transactions, their locks and
 * named prepared statements. `COPY FROM STDIN` is refused.
 *
 * A connection of an agent's role has that role in its turns, and may send only statements that cannot change it: see
 * `agentRefusalReason`.
 */
export async function servePglite(options: {
  db: PGlite;
  /** The password of every user except agents' roles, whose passwords are derived from it (`agentPassword`). */
  password: string;
  /** On loopback. Default: a free port. */
  port?: number;
  /** Called when the engine itself fails, not for SQL errors: its later answers are not reliable. */
  onEngineFailure?: (error: unknown) => void;
  /** Default {@link IDLE_IN_TRANSACTION_MS}. */
  idleInTransactionMs?: number;
}): Promise<PgliteServer> {
  const turns = new Turns(options.db, {
    idleInTransactionMs: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS,
    onEngineFailure: options.onEngineFailure ?? (() => undefined),
  });
  const connections = new Set<PgliteConnection>();
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    const connection = new PgliteConnection({ socket, password: options.password, turns });
    connections.add(connection);
    socket.once('close', () => {
      connections.delete(connection);
    });
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.end('57P01', 'The platform is shutting down.');
      await closed;
      await turns.idle();
    },
  };
}

/** The session's statement names are shared, so each connection's names are made unique. */
let statementsNamed = 0;

/** One client of the embedded database: start-up, password, then messages collected into turns. */
class PgliteConnection implements TurnOwner {
  readonly #socket: Socket;
  readonly #password: string;
  readonly #turns: Turns;
  readonly #statements = new Map<string, string>();
  #role: string | undefined;
  #phase: 'startup' | 'password' | 'open' | 'ended' = 'startup';
  #startup: Buffer | undefined;
  #unread: Buffer = Buffer.alloc(0);
  /** What arrived after `#unread`: joined once it completes a message, because a large one arrives in many parts. */
  #arrived: Buffer[] = [];
  #missingBytes = 0;
  #batch: Buffer[] = [];

  constructor(options: { socket: Socket; password: string; turns: Turns }) {
    this.#socket = options.socket;
    this.#password = options.password;
    this.#turns = options.turns;
    this.#socket.on('data', (data) => this.#read(data));
    // 'close' follows a connection error, and cleans up.
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => this.#leave());
  }

  get role(): string | undefined {
    return this.#role;
  }

  /** Sends a part of an answer. Copies the bytes, which are a view of the engine's memory. */
  send(data: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(Buffer.from(data));
  }

  /** Ends the connection with a fatal error, as Postgres does. */
  end(sqlState: string, text: string): void {
    if (this.#socket.writable) this.#socket.end(fatalError(sqlState, text));
    this.#socket.destroySoon();
    this.#leave();
  }

  #read(data: Buffer): void {
    this.#arrived.push(data);
    this.#missingBytes -= data.length;
    if (this.#missingBytes > 0) return;
    this.#unread = Buffer.concat([this.#unread, ...this.#arrived.splice(0)]);
    while (
      this.#phase !== 'ended' &&
      (this.#phase === 'startup' ? this.#readStartup() : this.#readMessage())
    );
    this.#missingBytes = this.#phase === 'startup' ? 0 : missingBytes(this.#unread);
  }

  #readStartup(): boolean {
    const start = readStartup(this.#unread);
    if (start === undefined) return false;
    this.#unread = this.#unread.subarray(start.packet.length);
    switch (start.kind) {
      case 'encryption':
        this.#socket.write('N');
        return true;
      case 'startup':
        this.#startup = Buffer.from(start.packet);
        this.#phase = 'password';
        this.send(askForPassword());
        return true;
      case 'cancel':
        // There is no other backend to signal: the running query blocks this thread.
        this.#socket.end();
        return false;
      case 'unknown':
        this.end('08P01', 'This is not the Postgres protocol, version 3.');
        return false;
    }
  }

  #readMessage(): boolean {
    const message = readMessage(this.#unread);
    if (message === undefined) return false;
    if (message === null) {
      this.end('08P01', 'A message has an impossible length.');
      return false;
    }
    this.#unread = this.#unread.subarray(message.bytes.length);
    if (this.#phase === 'password') this.#checkPassword(message);
    else this.#gather(message);
    return true;
  }

  #checkPassword(message: WireMessage): void {
    const user = this.#startup && userOf(this.#startup);
    const role = user !== undefined && isAgentRole(user) ? user : undefined;
    const password = role === undefined ? this.#password : agentPassword(this.#password, role);
    if (!isPassword(message, password) || this.#startup === undefined) {
      this.end('28P01', 'password authentication failed');
      return;
    }
    this.#phase = 'open';
    this.#role = role;
    // Other start-up parameters (options, settings) would apply to the shared session.
    const bytes = role === undefined ? this.#startup : startup({ user: 'postgres', database: 'postgres' });
    this.#turns.enqueue({ owner: this, bytes, leavesBatchOpen: false });
  }

  #gather(message: WireMessage): void {
    if (message.type === 'X') {
      this.#socket.end();
      this.#leave();
      return;
    }
    if (isCopyFromStdin(message)) {
      this.end('0A000', 'COPY FROM STDIN is not served by the embedded database; use INSERT.');
      return;
    }
    const refusal = this.#role === undefined ? undefined : agentRefusalReason(message);
    if (refusal !== undefined) {
      this.end('42501', refusal);
      return;
    }
    this.#batch.push(renameStatement(message, (name) => this.#sessionName(name)));
    if (message.type !== 'Q' && message.type !== 'S' && message.type !== 'H') return;
    const bytes = Buffer.concat(this.#batch);
    this.#batch = [];
    this.#turns.enqueue({ owner: this, bytes, leavesBatchOpen: message.type === 'H' });
  }

  #sessionName(name: string): string {
    let sessionName = this.#statements.get(name);
    if (sessionName === undefined) {
      sessionName = `slipway_${++statementsNamed}`;
      this.#statements.set(name, sessionName);
    }
    return sessionName;
  }

  #leave(): void {
    if (this.#phase === 'ended') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'ended';
    if (!wasOpen) return;
    this.#turns.removeOwner(this, [...[...this.#statements.values()].map(closeStatement), sync()]);
  }
}

/** Parse, Bind, Describe, Execute, Close, Sync, Flush, Query, Terminate: the messages of ordinary statements. */
const ALLOWED_MESSAGE_TYPES = 'PBDECSHQX';

/** The beginnings of the statements that an agent may send: reading and changing rows, and transactions. */
const ALLOWED_STATEMENT_START =
  /^\s*(?:select|insert|update|delete|with|values|begin|start|commit|end|rollback|abort|savepoint|release)\b/iu;

/**
 * Why a message of an agent's connection to the embedded database is refused; undefined if it is allowed. The session
 * is a superuser's with the agent's role set. So nothing may pass that drops the role (`SET`, `RESET`, `DISCARD`),
 * runs code that could (`DO`, `CALL`, own functions), or leaves SQL (`COPY`, `LOAD`).
 *
 * One message must be one statement, because only the first one's beginning is checked. The extended protocol ensures
 * that; a simple query with a semicolon before its end is refused, even inside a literal.
 */
function agentRefusalReason(message: WireMessage): string | undefined {
  if (!ALLOWED_MESSAGE_TYPES.includes(message.type))
    return `Messages of type ${message.type} are not for agents.`;
  if (message.type !== 'Q' && message.type !== 'P') return undefined;
  const body = message.bytes.toString('utf8', 5);
  const text = message.type === 'Q' ? body : body.slice(body.indexOf('\0') + 1);
  const statement = text.slice(0, text.indexOf('\0')).replace(/[\s;]+$/u, '');
  if (message.type === 'Q' && statement.includes(';'))
    return 'Send one statement at a time: the embedded database takes no list of them from agents.';
  if (statement === '' || ALLOWED_STATEMENT_START.test(statement)) return undefined;
  return 'The embedded database takes SELECT, INSERT, UPDATE, DELETE and transactions from agents, and nothing else.';
}
