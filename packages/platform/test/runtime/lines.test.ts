import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readLines } from '../../src/runtime/lines.ts';

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
