import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { followOutput } from '../../src/runtime/agentOutput.ts';

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
