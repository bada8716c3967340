import type { Readable } from 'node:stream';
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
