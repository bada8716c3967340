import { execFile } from 'node:child_process';
import { createSecretKey, type KeyObject } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';

import { SECRET_REFERENCE, secretInFile } from '@slipway/contract/secretReference';

import { SlipwayError } from '../domain/errors.ts';
import { type Environment, setting } from './environment.ts';
import { resolveSecret } from './secretReference.ts';

export const PAYLOAD_KEYS = 'SLIPWAY_PAYLOAD_KEYS';

/** An AES-256 key, and its id, which each payload that it encrypts carries unencrypted. */
export interface PayloadKey {
  readonly id: string;
  readonly key: KeyObject;
}

const KEY_BYTES = 32;
const ENTRY = /^(?<id>[A-Za-z0-9._-]{1,64})=(?<reference>(?:env|file|command):.+)$/su;
const COMMAND = 'command:';
const COMMAND_TIMEOUT_MS = 30_000;
const EXAMPLE = `${PAYLOAD_KEYS}="2026-11=file:/run/secrets/payload-key"`;

/**
 * The keys that payloads in Temporal are encrypted with, from `SLIPWAY_PAYLOAD_KEYS`: `ID=REFERENCE`, separated by commas.
 * The first one encrypts. A reference is `env:NAME`, `file:/absolute/path`, or `command:/absolute/path`: a program that
 * receives the key's id as its argument and prints the key, for example from a KMS. A key is 32 bytes in base64.
 * @returns none if the variable is not set.
 */
export async function readPayloadKeys(environment: Environment): Promise<PayloadKey[]> {
  const written = setting(environment, PAYLOAD_KEYS);
  if (written === undefined) return [];
  const entries = written.split(',').map((entry) => readEntry(entry.trim()));
  const ids = new Set(entries.map(({ id }) => id));
  if (ids.size < entries.length) throw invalid('two keys have the same id', 'give each key a unique id');
  return Promise.all(
    entries.map(async ({ id, reference }) => ({
      id,
      key: toKey(id, await read(id, reference, environment)),
    })),
  );
}

function readEntry(entry: string): { readonly id: string; readonly reference: string } {
  const { id, reference = '' } = ENTRY.exec(entry)?.groups ?? {};
  const command = reference.startsWith(COMMAND) ? reference.slice(COMMAND.length) : undefined;
  const isReference = command === undefined ? SECRET_REFERENCE.test(reference) : isAbsolute(command);
  // The error does not repeat the entry, because it may be a key instead of a reference.
  if (id === undefined || !isReference) {
    throw invalid(
      'an entry is not ID=env:NAME, ID=file:/absolute/path or ID=command:/absolute/path',
      `write references, never keys: ${EXAMPLE}`,
    );
  }
  return { id, reference };
}

async function read(id: string, reference: string, environment: Environment): Promise<string> {
  if (reference.startsWith(COMMAND)) return await run(id, reference.slice(COMMAND.length), environment);
  try {
    return resolveSecret({ from: reference }, environment);
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const what = `the payload key "${id}": ${error.message}`;
    const hint = `every command, worker, dashboard and codec server reads ${PAYLOAD_KEYS} itself: set it there`;
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', what, { place: reference, hint, cause: error });
  }
}

/** Runs the program without a shell. Errors never repeat its output, which is the key. */
async function run(id: string, program: string, environment: Environment): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [id], {
      env: { ...environment },
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: 4_096,
    });
    return secretInFile(stdout);
  } catch (error) {
    const { code, signal } = error as { readonly code?: string | number; readonly signal?: string };
    throw invalid(
      `the program of the key "${id}" failed: ${code ?? signal ?? 'unknown'}`,
      `run it by hand: ${program} ${id}; it prints 32 bytes in base64 within ${COMMAND_TIMEOUT_MS / 1_000} s`,
    );
  }
}

function toKey(id: string, text: string): KeyObject {
  const bytes = Buffer.from(text, 'base64');
  const isBase64 = bytes.toString('base64').replace(/=+$/u, '') === text.trim().replace(/=+$/u, '');
  if (!isBase64 || bytes.length !== KEY_BYTES) {
    const found = isBase64 ? `${bytes.length} bytes` : 'not base64';
    throw invalid(
      `the key "${id}" is ${found}, not ${KEY_BYTES} bytes in base64`,
      `make one: openssl rand -base64 ${KEY_BYTES}`,
    );
  }
  return createSecretKey(bytes);
}

function invalid(message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_PAYLOAD_KEYS_INVALID', message, { place: PAYLOAD_KEYS, hint });
}
