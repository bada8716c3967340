import type { WireMessage } from './wireMessages.ts';

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
export function agentRefusalReason(message: WireMessage): string | undefined {
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
