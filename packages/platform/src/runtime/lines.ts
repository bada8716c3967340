import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

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
export async function lastOutput(outputs: readonly (Readable | null)[]): Promise<void> {
  const closed = outputs.flatMap((output) =>
    output === null || output.closed ? [] : [new Promise((resolve) => output.once('close', resolve))],
  );
  await Promise.race([Promise.all(closed), sleep(LAST_OUTPUT_MS, undefined, { ref: false })]);
}
