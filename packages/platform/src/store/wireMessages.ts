import { timingSafeEqual } from 'node:crypto';

/** The messages of the Postgres wire protocol 3 that serving an embedded Postgres needs: type, length, body. */

/** The kinds of start-up packets, which have no type byte. */
export type StartupKind = 'encryption' | 'cancel' | 'startup' | 'unknown';

const SSL_REQUEST = 80_877_103;
const GSS_ENCRYPTION_REQUEST = 80_877_104;
const CANCEL_REQUEST = 80_877_102;
const PROTOCOL_3 = 196_608;

/** Reads one untyped packet from the front of `buffer`; undefined if it is incomplete. */
export function readStartup(buffer: Buffer): { kind: StartupKind; packet: Buffer } | undefined {
  if (buffer.length < 8) return undefined;
  const length = buffer.readInt32BE(0);
  // Postgres itself rejects start-up packets over 10,000 bytes.
  if (length < 8 || length > 10_000) return { kind: 'unknown', packet: buffer };
  if (buffer.length < length) return undefined;
  return { kind: startupKind(buffer.readInt32BE(4)), packet: buffer.subarray(0, length) };
}

function startupKind(code: number): StartupKind {
  if (code === SSL_REQUEST || code === GSS_ENCRYPTION_REQUEST) return 'encryption';
  if (code === CANCEL_REQUEST) return 'cancel';
  return code === PROTOCOL_3 ? 'startup' : 'unknown';
}

/** The user in a start-up packet, whose parameters are pairs of zero-terminated strings. */
export function userOf(packet: Buffer): string | undefined {
  const strings = packet.toString('utf8', 8).split('\0');
  for (let i = 0; i + 1 < strings.length && strings[i] !== ''; i += 2) {
    if (strings[i] === 'user') return strings[i + 1];
  }
  return undefined;
}

/** A start-up packet with these parameters. */
export function startup(parameters: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(`${Object.entries(parameters).flat().join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(PROTOCOL_3, 4);
  return Buffer.concat([head, body]);
}

/** A complete message. `type` is its type byte, as a character. */
export interface WireMessage {
  readonly type: string;
  /** The whole message, including type byte and length. */
  readonly bytes: Buffer;
}

/** Reads one typed message from the front of `buffer`; undefined if it is incomplete, null if it is invalid. */
export function readMessage(buffer: Buffer): WireMessage | undefined | null {
  if (buffer.length < 5) return undefined;
  const length = buffer.readInt32BE(1);
  // Postgres limits a message to 1 GB.
  if (length < 4 || length > 0x3fff_ffff) return null;
  if (buffer.length < length + 1) return undefined;
  return { type: String.fromCharCode(buffer[0] ?? 0), bytes: buffer.subarray(0, length + 1) };
}

/** How many bytes the message at the front of `buffer` lacks, as far as known; not positive if none. */
export function missingBytes(buffer: Buffer): number {
  return (buffer.length < 5 ? 5 : buffer.readInt32BE(1) + 1) - buffer.length;
}

function writeMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A simple query. */
export function query(sql: string): Buffer {
  return writeMessage('Q', Buffer.from(`${sql}\0`));
}

/** The end of an extended batch. */
export function sync(): Buffer {
  return writeMessage('S', Buffer.alloc(0));
}

/** Closes a prepared statement. */
export function closeStatement(name: string): Buffer {
  return writeMessage('C', Buffer.from(`S${name}\0`));
}

/** The server's request for a clear-text password, which never leaves this machine. */
export function askForPassword(): Buffer {
  return writeMessage('R', Buffer.from([0, 0, 0, 3]));
}

/** Whether a password message has this password; compares in constant time. */
export function isPassword(message: WireMessage, password: string): boolean {
  if (message.type !== 'p') return false;
  const given = message.bytes.subarray(5, -1);
  const expected = Buffer.from(password);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether a message may be `COPY … FROM STDIN`, by its text. The embedded engine would wait for input forever. */
export function isCopyFromStdin(message: WireMessage): boolean {
  if (message.type !== 'Q' && message.type !== 'P') return false;
  return /\bcopy\b[^;]*\bfrom\s+stdin\b/i.test(message.bytes.toString('latin1'));
}

/** A fatal error in Postgres' format. */
export function fatalError(sqlState: string, text: string): Buffer {
  return writeMessage('E', Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0M${text}\0\0`));
}

/** The message (Parse, Bind, Describe or Close) with its statement's name replaced, if it has one. */
export function renameStatement(message: WireMessage, rename: (name: string) => string): Buffer {
  const body = message.bytes.subarray(5);
  const start = startOfStatementName(message.type, body);
  const end = start === undefined ? -1 : body.indexOf(0, start);
  if (start === undefined || end <= start) return message.bytes;
  const name = Buffer.from(rename(body.toString('utf8', start, end)));
  return writeMessage(message.type, Buffer.concat([body.subarray(0, start), name, body.subarray(end)]));
}

/** The position of the statement's name in a message's body; undefined if it names none. */
function startOfStatementName(type: string, body: Buffer): number | undefined {
  if (type === 'P') return 0;
  // The portal's name comes first.
  if (type === 'B') return body.indexOf(0) + 1;
  const isAboutStatement = (type === 'D' || type === 'C') && body[0] === 'S'.charCodeAt(0);
  return isAboutStatement ? 1 : undefined;
}
