import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

import { createTokenBuckets } from '../access/tokenBuckets.ts';
import { createSecretMask } from './secretMask.ts';

/**
 * Reads a process's output line by line: UTF-8, ended by LF, CRLF or CR (progress bars), without terminal
 * control sequences, empty lines left out. What is beyond `maxChars` of a line is dropped as it arrives, so an
 * endless line costs no memory; `cut` then says so.
 *
 * A stream that breaks off counts as ended: the process's exit tells the rest.
 */
export function readLines(
  stream: Readable,
  maxChars: number,
  onLine: (line: string, cut: boolean) => void,
): void {
  let line = '';
  let cut = false;
  const add = (text: string) => {
    const room = maxChars - line.length;
    if (text.length > room) cut = true;
    line += text.slice(0, room);
  };
  const end = () => {
    const clean = stripVTControlCharacters(line).trimEnd();
    const wasCut = cut;
    line = '';
    cut = false;
    if (clean !== '') onLine(clean, wasCut);
  };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const parts = chunk.split(/\r\n|\n|\r/);
    const last = parts.pop() ?? '';
    for (const part of parts) {
      add(part);
      end();
    }
    add(last);
  });
  stream.on('close', end);
  stream.on('error', end);
}

/** How long the last output is waited for, in ms. */
const LAST_OUTPUT_MS = 1_000;

/**
 * Waits for what an ended process still has in its pipes; not for ever, because a process that left its group may hold
 * them.
 */
export async function lastOutput(outputs: readonly Readable[]): Promise<void> {
  const closed = outputs.filter((output) => !output.closed).map((output) => once(output, 'close'));
  await Promise.race([Promise.all(closed), sleep(LAST_OUTPUT_MS, undefined, { ref: false })]);
}

/** The longest line that is passed on, in characters. */
const MAX_LINE_CHARS = 8_000;
/** How much of a line is read: more than is passed on, because what is dropped at a cut is a secret's length. */
const MAX_READ_CHARS = 32_000;
/** Lines that are passed on. */
const LINE_RATE = { perSecond: 200, burst: 2_000 };
/** How many last lines are kept for the reason when the agent does not start. */
const KEPT_LINES = 20;

/** An agent's two output streams, followed. */
interface AgentOutput {
  /** Resolves with the address of the ready line; never rejects, and stays pending when no such line comes. */
  readonly ready: Promise<string>;
  /** The last lines so far, oldest first, secrets masked. */
  lastLines(): string[];
}

/**
 * Follows what an agent writes. The ready line (`{"event":"ready","url":…}` on stdout) is taken; every other
 * line of both streams goes to `log`, bounded in length and rate, with the values in `secrets` masked. Reading
 * never stops, so that an agent that talks a lot does not block on a full pipe.
 */
export function followOutput(
  streams: { readonly stdout: Readable; readonly stderr: Readable },
  secrets: readonly string[],
  log: (line: string) => void,
): AgentOutput {
  const mask = createSecretMask(secrets);
  const throttled = throttle(log);
  const kept: string[] = [];
  const pass = (line: string, cut: boolean) => {
    const shown = mask(line, cut);
    const bounded = shown.length > MAX_LINE_CHARS ? `${shown.slice(0, MAX_LINE_CHARS)} … (cut)` : shown;
    kept.push(bounded);
    if (kept.length > KEPT_LINES) kept.shift();
    throttled(bounded);
  };
  const ready = new Promise<string>((resolve) => {
    readLines(streams.stdout, MAX_READ_CHARS, (line, cut) => {
      const url = addressIn(line);
      if (url === undefined) pass(line, cut);
      else resolve(url);
    });
  });
  readLines(streams.stderr, MAX_READ_CHARS, pass);
  return { ready, lastLines: () => [...kept] };
}

/** The address in a ready line, or undefined where the line is anything else (agents print JSON of their own). */
function addressIn(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    // Not JSON after all: a line like any other.
    return undefined;
  }
  const { event, url } = message as { event?: unknown; url?: unknown };
  return event === 'ready' && typeof url === 'string' && URL.canParse(url) ? url : undefined;
}

/** Passes lines on at a bounded rate, and says how many it left out once there is room again. */
function throttle(log: (line: string) => void): (line: string) => void {
  const take = createTokenBuckets(LINE_RATE);
  let leftOut = 0;
  return (line) => {
    if (take('') > 0) {
      leftOut += 1;
      return;
    }
    if (leftOut > 0) log(`… ${leftOut} lines left out: the agent writes faster than its log takes.`);
    leftOut = 0;
    log(line);
  };
}
