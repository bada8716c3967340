import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { createRunApiClient } from '../../src/clients/runApi.ts';
import type { Expectation } from '../../src/domain/check/expectation.ts';
import type { SlipwayError } from '../../src/domain/errors.ts';
import { type Input, inputsOfFile, recordedInputs, someInputs } from '../../src/judge/inputs.ts';
import { randomFrom, sample, shuffled } from '../../src/judge/random.ts';
import { json, startService } from '../clients/faultyService.ts';

function read(text: string, expected?: Expectation): Promise<Input[]> {
  const stream = Readable.from([Buffer.from(text)]);
  return sample(inputsOfFile(stream, 'inputs.jsonl', expected), 1_000, randomFrom(1));
}

async function problemOf(text: string, expected?: Expectation): Promise<SlipwayError> {
  try {
    await read(text, expected);
  } catch (error) {
    return error as SlipwayError;
  }
  throw new Error('it was taken');
}

describe('a file of inputs', () => {
  it('has one on each line, with an optional expectation', async () => {
    const text =
      '{"input":{"name":"Ada"},"expect":{"contains":"Ada","maxLatency":"2s"}}\r\n\n{"input":{"name":"Bob"}}';
    expect(await read(text)).toEqual([
      { input: { name: 'Ada' }, expect: { contains: 'Ada', maxLatencyMs: 2_000 } },
      { input: { name: 'Bob' } },
    ]);
    const lines = '{"input":{"text":"one\u2028line"}}';
    expect(await read(lines)).toEqual([{ input: { text: 'one\u2028line' } }]);
  });

  it.each([
    ['{"input":{}}\nnot JSON', 'inputs.jsonl:2', 'the line is not JSON'],
    ['{"input":3}', 'inputs.jsonl:1', 'input: '],
    ['\n\n{"input":{},"expects":{}}', 'inputs.jsonl:3', 'expects'],
    ['{"input":{},"expect":{"matches":"("}}', 'inputs.jsonl:1', 'expect.matches'],
  ])('is rejected with the line: %j', async (text, place, words) => {
    const problem = await problemOf(text);
    expect(problem).toMatchObject({ code: 'SLIPWAY_JUDGE_INPUTS_INVALID', place });
    expect(problem.message).toContain(words);
  });

  it('has a reference on each line whose answer is compared with it', async () => {
    const compared = { reference: 'equals' } as const;
    const own = { input: {}, expect: { contains: 'Ada' } };
    const lines = [own, { input: {}, reference: 4 }].map((line) => JSON.stringify(line)).join('\n');
    expect(await read(lines, compared)).toEqual([own, { input: {}, reference: 4 }]);
    for (const problem of [
      await problemOf(`${lines}\n{"input":{}}`, compared),
      await problemOf(`${lines}\n{"input":{},"expect":{"reference":"contains"}}`),
    ]) {
      expect(problem).toMatchObject({ code: 'SLIPWAY_JUDGE_INPUTS_INVALID', place: 'inputs.jsonl:3' });
      expect(problem.message).toContain('add "reference"');
    }
  });

  it('without any input is rejected', () => {
    expect(() => someInputs([], 'inputs.jsonl')).toThrow('it contains no input');
  });
});

describe('a sample', () => {
  async function* numbers(count: number): AsyncGenerator<number> {
    for (let number = 0; number < count; number++) yield await Promise.resolve(number);
  }

  it('contains everything if there are no more than wanted', async () => {
    expect(await sample(numbers(5), 10, randomFrom(1))).toEqual([0, 1, 2, 3, 4]);
  });

  it('is drawn evenly from any number, and repeatable with the same seed', async () => {
    const drawn = await sample(numbers(20_000), 500, randomFrom(3));
    expect(new Set(drawn).size).toBe(500);
    const mean = drawn.reduce((sum, number) => sum + number, 0) / drawn.length;
    // Four standard errors.
    expect(Math.abs(mean - 10_000)).toBeLessThan((4 * 20_000) / Math.sqrt(12 * 500));
    expect(await sample(numbers(20_000), 500, randomFrom(3))).toEqual(drawn);
    expect(await sample(numbers(20_000), 500, randomFrom(4))).not.toEqual(drawn);
  });

  it('is shuffled without a loss', () => {
    const order = shuffled([1, 2, 3, 4, 5, 6, 7, 8], randomFrom(1));
    expect(order).not.toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(order.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('recorded inputs', () => {
  const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const at = '2026-11-21T10:00:00Z';

  it('are those of the assistant’s successful runs on the threads of the baseline', async () => {
    const run = (number: number, assistant: number, input: unknown) => ({
      run_id: id(number),
      thread_id: id(1),
      assistant_id: id(assistant),
      status: 'success',
      created_at: at,
      updated_at: at,
      metadata: {},
      kwargs: { input },
      multitask_strategy: 'reject',
    });
    const thread = {
      thread_id: id(1),
      created_at: at,
      updated_at: at,
      metadata: {},
      status: 'idle',
      values: {},
    };
    const assistant = (number: number, graph: string, metadata = {}) => ({
      assistant_id: id(number),
      graph_id: graph,
      name: graph,
      version: 1,
      config: {},
      metadata,
      created_at: at,
      updated_at: at,
    });
    const service = await startService(({ url }, response) => {
      // The newest is first: one that a person created of the graph.
      const own = { created_by: 'system' };
      const assistants = [assistant(9, 'greeter'), assistant(7, 'greeter', own), assistant(8, 'other')];
      if (url === '/assistants/search') json(response, 200, assistants);
      else if (url === '/threads/search') json(response, 200, [thread]);
      else {
        // Not every server reads the query.
        const failed = { ...run(4, 7, { name: 'Eve' }), status: 'error' };
        const runs = [run(1, 7, { name: 'Ada' }), run(2, 8, { name: 'Bob' }), run(3, 7, null), failed];
        json(response, 200, runs);
      }
    });
    const client = createRunApiClient({ baseUrl: service.url });
    const { signal } = new AbortController();
    const inputs = await sample(recordedInputs(client, 'greeter', signal), 10, randomFrom(1));
    expect(inputs).toEqual([{ input: { name: 'Ada' } }]);
    expect(service.requests.at(-1)!.url).toContain('status=success');
    await expect(sample(recordedInputs(client, 'nobody', signal), 10, randomFrom(1))).rejects.toThrow(
      'no assistant of that name',
    );
    await client.close();
  });
});
