import type { WireMessage } from './wireMessages.ts';

/** Parse, Bind, Describe, Execute, Close, Sync, Flush, Query, Terminate: what a client of everyday statements sends. */
const MESSAGES = 'PBDECSHQX';

/** How every statement that an agent may send begins: reading and changing rows, and transactions around that. */
const BEGINNING =
  /^\s*(?:select|insert|update|delete|with|values|begin|start|commit|end|rollback|abort|savepoint|release)\b/iu;

/**
 * Why a message of an agent's connection to the embedded database is refused; undefined where it is not. The session
 * is a superuser's with the agent's role put on, so nothing may get through that takes the role off (`SET`, `RESET`,
 * `DISCARD`), runs code that could (`DO`, `CALL`, functions of one's own), or leaves SQL (`COPY`, `LOAD`).
 *
 * One message is one statement: of several, only the first one's beginning would be seen. The extended protocol holds
 * to that by itself; a simple query with a semicolon before its end is refused, inside a literal, too.
 */
export function refusalOfAgent(message: WireMessage): string | undefined {
  if (!MESSAGES.includes(message.type)) return `Messages of type ${message.type} are not for agents.`;
  if (message.type !== 'Q' && message.type !== 'P') return undefined;
  const body = message.bytes.toString('utf8', 5);
  const text = message.type === 'Q' ? body : body.slice(body.indexOf('\0') + 1);
  const statement = text.slice(0, text.indexOf('\0')).replace(/[\s;]+$/u, '');
  if (message.type === 'Q' && statement.includes(';'))
    return 'Send one statement at a time: the embedded database takes no list of them from agents.';
  if (statement === '' || BEGINNING.test(statement)) return undefined;
  return 'The embedded database takes SELECT, INSERT, UPDATE, DELETE and transactions from agents, and nothing else.';
}
