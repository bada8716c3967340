import { once } from 'node:events';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { followOutput, readLines } from '../../src/runtime/outputLines.ts';

async function linesOf(chunks: (string | Buffer)[], maxChars = 100): Promise<[string, boolean][]> {
  const stream = new PassThrough();
  const lines: [string, boolean][] = [];
  readLines(stream, maxChars, (line, cut) => void lines.push([line, cut]));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await once(stream, 'close');
  return lines;
}

describe('the lines of a process’s output', () => {
  it('are put together across chunks, also inside a character', async () => {
    const bytes = Buffer.from('grüße\nend');
    expect(await linesOf([bytes.subarray(0, 3), bytes.subarray(3)])).toEqual([
      ['grüße', false],
      ['end', false],
    ]);
  });

  it('end at LF, CRLF and CR, and empty ones are left out', async () => {
    expect((await linesOf(['a\r\nb\rc\n\n\nd'])).map(([line]) => line)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('carry no terminal colors', async () => {
    expect(await linesOf(['\u001b[31mred\u001b[0m\n'])).toEqual([['red', false]]);
  });

  it('are cut at the limit, and the next one is whole', async () => {
    expect(await linesOf(['12345', '67890', '\nok\n'], 7)).toEqual([
      ['1234567', true],
      ['ok', false],
    ]);
  });
});

async function follow(stdout: string, secrets: string[] = []) {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const log: string[] = [];
  const output = followOutput(streams, secrets, (line) => void log.push(line));
  streams.stdout.end(stdout);
  await once(streams.stdout, 'close');
  return { output, log };
}

describe('an agent’s output', () => {
  it('gives the address of the ready line, among other lines of JSON', async () => {
    const { output, log } = await follow(
      '{"level":30}\n{"event":"ready"}\n{broken\n{"event":"ready","url":"http://127.0.0.1:4000"}\n',
    );
    expect(await output.ready).toBe('http://127.0.0.1:4000');
    expect(log).toEqual(['{"level":30}', '{"event":"ready"}', '{broken']);
  });

  it('keeps the last 20 lines', async () => {
    const { output } = await follow(Array.from({ length: 50 }, (_, i) => `line ${String(i)}`).join('\n'));
    expect(output.lastLines()).toHaveLength(20);
    expect(output.lastLines().at(-1)).toBe('line 49');
  });

  it('is logged at a bounded rate', async () => {
    const { log } = await follow('x\n'.repeat(100_000));
    expect(log.length).toBeLessThan(10_000);
    expect(log.length).toBeGreaterThanOrEqual(2_000);
  });

  it('is logged with long lines cut, and no part of a secret at the cut', async () => {
    const secret = 'S3CR3T-'.repeat(10);
    const { log } = await follow(`${'x'.repeat(31_990)}${secret}\n${'y'.repeat(9_000)}\n`, [secret]);
    expect(log.map((line) => line.length)).toEqual([8_008, 8_008]);
    expect(log.join('')).not.toContain('S3C');
  });
});
