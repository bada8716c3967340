import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

import { parsedJson } from '@slipway/contract/json';

import { createTokenBuckets } from '../access/tokenBuckets.ts';
import { createSecretMask } from './secretMask.ts';

/**
 * Reads a process's output line by line: UTF-8, ended by LF, CRLF or CR (progress bars), without terminal control
 * sequences and empty lines. Characters beyond `maxChars` of a line are dropped at once, so an endless line costs no
 * memory; then `cut` is true.
 *
 * A broken stream counts as ended, because the process's exit tells the rest.
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

/** How long to wait for the last output, in ms. */
const LAST_OUTPUT_MS = 1_000;

/** Waits for the remaining output of an ended process; a process that left its group may hold the pipes. */
export async function waitForOutputEnd(outputs: readonly Readable[]): Promise<void> {
  const closed = outputs.filter((output) => !output.closed).map((output) => once(output, 'close'));
  await Promise.race([Promise.all(closed), sleep(LAST_OUTPUT_MS, undefined, { ref: false })]);
}

/** The longest logged line, in characters. */
const MAX_LINE_CHARS = 8_000;
/** How much of a line to read: more than is logged, because a cut drops as many characters as the longest secret. */
const MAX_READ_CHARS = 32_000;
const LINE_RATE = { perSecond: 200, burst: 2_000 };
/** How many last lines to keep for the reason if the agent does not start. */
const KEPT_LINES = 20;

/**
 * Follows an agent's output. The ready line (`{"event":"ready","url":…}` on stdout) is consumed. All other lines of
 * both streams go to `log`, bounded in length and rate, with the values in `secrets` masked. Reading never stops, so
 * that an agent with much output does not block on a full pipe.
 */
export function followOutput(
  streams: { readonly stdout: Readable; readonly stderr: Readable },
  secrets: readonly string[],
  log: (line: string) => void,
) {
  const mask = createSecretMask(secrets);
  const throttled = throttle(log);
  const kept: string[] = [];
  const logLine = (line: string, cut: boolean) => {
    const shown = mask(line, cut);
    const bounded = shown.length > MAX_LINE_CHARS ? `${shown.slice(0, MAX_LINE_CHARS)} … (cut)` : shown;
    kept.push(bounded);
    if (kept.length > KEPT_LINES) kept.shift();
    throttled(bounded);
  };
  const ready = new Promise<string>((resolve) => {
    readLines(streams.stdout, MAX_READ_CHARS, (line, cut) => {
      const url = parseReadyUrl(line);
      if (url === undefined) logLine(line, cut);
      else resolve(url);
    });
  });
  readLines(streams.stderr, MAX_READ_CHARS, logLine);
  return {
    /** Resolves with the address in the ready line; never rejects, and stays pending without such a line. */
    ready,
    /** The last lines so far, oldest first, secrets masked. */
    lastLines: (): string[] => [...kept],
  };
}

/** The last lines of a failed program, to follow a sentence. */
export function lastLinesText(lines: readonly string[]): string {
  return lines.length === 0 ? ' It printed nothing.' : ` Its last lines:\n${lines.join('\n')}`;
}

/** The address in a ready line, or undefined for any other line (agents also print JSON). */
function parseReadyUrl(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const { event, url } = (parsedJson(line) ?? {}) as { event?: unknown; url?: unknown };
  return event === 'ready' && typeof url === 'string' && URL.canParse(url) ? url : undefined;
}

/** Logs lines at a bounded rate, and reports how many it left out once there is room again. */
function throttle(log: (line: string) => void): (line: string) => void {
  const takeToken = createTokenBuckets(LINE_RATE);
  let omittedLines = 0;
  return (line) => {
    if (takeToken('') > 0) {
      omittedLines += 1;
      return;
    }
    if (omittedLines > 0)
      log(`… ${omittedLines} lines left out: the agent writes faster than its log takes.`);
    omittedLines = 0;
    log(line);
  };
}
