import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';

import { askEvaluator, type EvaluationRequest } from '../../src/clients/evaluator.ts';
import { createAgent } from '../../src/clients/service.ts';
import { Process } from './processes.ts';
import { listen } from '../support/listen.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/evaluators/', import.meta.url));
const SECRET = 'what only the evaluators and Slipway know';
const INSTALL_MS = 600_000;

const run = promisify(execFile);

const REQUEST: EvaluationRequest = {
  version: 1,
  evaluator: 'example',
  check: 'greets in French',
  input: { messages: [{ role: 'user', content: 'Say {hello} to Ada in French' }] },
  answer: 'Bonjour, Ada!',
  output: {
    messages: [
      { type: 'human', content: 'Say {hello} to Ada in French' },
      {
        type: 'ai',
        content: '',
        tool_calls: [{ id: '1', type: 'tool_call', name: 'greeting_in', args: { language: 'French' } }],
      },
      { type: 'tool', tool_call_id: '1', name: 'greeting_in', content: 'Bonjour' },
      { type: 'ai', content: 'Bonjour, Ada!' },
    ],
  },
  reference: 'Bonjour, Ada!',
  run: { id: null, assistant: 'greeter', latencyMs: 12, tokens: null, revisionId: null, repetition: 1 },
};

const agent = createAgent();
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-evaluators-'));
  await cp(EXAMPLES, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
});
afterAll(async () => {
  await agent.close();
  await rm(folder, { recursive: true, force: true });
});

/** Installs an example's dependencies. @returns why that is not possible here; `undefined` if it worked. */
async function installed(command: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    await run(command, args, { cwd: folder, timeout: INSTALL_MS });
    return undefined;
  } catch (error) {
    return `${command} ${args.join(' ')} failed: ${(error as Error).message.slice(-300)}`;
  }
}

/** Starts an evaluator on a free port, and returns its address. */
async function started(process: Process): Promise<string> {
  await process.line(() => process.stdout.includes('evaluators on '));
  return /evaluators on (\S+)/.exec(process.stdout)?.[1] ?? '';
}

function ask(url: string, changes: Partial<EvaluationRequest> = {}, secret = SECRET) {
  const evaluator = { name: 'example', url, timeoutMs: 60_000 };
  return askEvaluator(
    agent,
    evaluator,
    { ...REQUEST, ...changes },
    {
      secret,
      signal: new AbortController().signal,
    },
  );
}

describe('the evaluator in TypeScript, with a stand-in for the model', { timeout: INSTALL_MS }, () => {
  const asked: { readonly authorization: string | undefined; readonly body: string }[] = [];
  let model: Server;
  let evaluator: Process;
  let url = '';
  let missing: string | undefined;
  let status = 200;

  beforeAll(async () => {
    const example = join(folder, 'typescript');
    missing = await installed('npm', 'ci', '--prefix', example, '--no-audit', '--no-fund');
    if (missing !== undefined) return;
    model = createServer((request, response) => {
      void text(request).then((body) => {
        asked.push({ authorization: request.headers.authorization, body });
        const content = JSON.stringify({ reasoning: 'It greets Ada in French.', score: 0.9 });
        const message = { role: 'assistant', content };
        const answer = {
          id: 'answer-1',
          object: 'chat.completion',
          created: 1,
          model: 'stand-in',
          choices: [{ index: 0, finish_reason: 'stop', message }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        };
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    evaluator = new Process('npm', ['start', '--prefix', example], {
      env: {
        EVALUATORS_SECRET: SECRET,
        MODEL: 'stand-in',
        OPENAI_API_KEY: 'the-key-of-the-model',
        OPENAI_BASE_URL: `${await listen(model)}/v1`,
        PORT: '0',
      },
    });
    url = await started(evaluator);
  }, INSTALL_MS);

  afterAll(async () => {
    if (missing !== undefined) return;
    await evaluator.kill();
    model.close();
  });

  it('asks the model about the answer and the reference, with the key of the environment', async (test) => {
    skipWithout(test, missing);
    expect(await ask(`${url}/correctness`)).toEqual({ score: 0.9, comment: 'It greets Ada in French.' });
    expect(asked[0]?.authorization).toBe('Bearer the-key-of-the-model');
    const { model: name, messages } = JSON.parse(asked[0]?.body ?? '') as {
      readonly model: string;
      readonly messages: readonly { readonly content: string }[];
    };
    expect(name).toBe('stand-in');
    expect(messages[0]?.content).toContain('Say {hello} to Ada in French');
    expect(messages[0]?.content).toMatch(/<reference_outputs>\s*Bonjour, Ada!/);
  });

  it('refuses what Slipway did not sign', async (test) => {
    skipWithout(test, missing);
    await expect(ask(`${url}/correctness`, {}, 'another secret')).rejects.toThrow('401');
  });

  it('answers that the model failed, so that Slipway asks again, and does not log what it was asked', async (test) => {
    skipWithout(test, missing);
    status = 500;
    const before = asked.length;
    await expect(ask(`${url}/conciseness`)).rejects.toThrow('was answered with 502: the model gave no score');
    expect(asked.length - before).toBe(5);
    expect(evaluator.stdout + evaluator.stderr).not.toContain('Bonjour');
  });
});

describe('the evaluator in Python', { timeout: INSTALL_MS }, () => {
  let evaluator: Process;
  let url = '';
  let missing: string | undefined;

  beforeAll(async () => {
    const python = join(folder, 'venv/bin/python');
    missing =
      (await installed('python3', '-m', 'venv', 'venv')) ??
      (await installed(python, '-m', 'pip', 'install', '--quiet', '-r', 'python/requirements.txt'));
    if (missing !== undefined) return;
    const env = { EVALUATORS_SECRET: SECRET, PORT: '0' };
    evaluator = new Process(python, [join(folder, 'python/evaluator.py')], { env });
    url = await started(evaluator);
  }, INSTALL_MS);

  afterAll(async () => {
    if (missing === undefined) await evaluator.kill();
  });

  const calls = (name: string) => ({
    messages: [
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: '9', type: 'function', function: { name, arguments: '{"language":"French"}' } }],
      },
    ],
  });

  it.for([
    ['superset', 'greeting_in', 1],
    ['unordered', 'greeting_in', 1],
    ['superset', 'book', 0],
    ['subset', 'book', 0],
  ] as const)('compares the tool calls: %s, %s', async ([mode, name, score], test) => {
    skipWithout(test, missing);
    const reference = calls(name);
    expect(await ask(`${url}/trajectory/${mode}`, { reference })).toEqual({
      score,
      comment: 'called greeting_in',
    });
  });

  it('refuses what Slipway did not sign, and says what it needs', async (test) => {
    skipWithout(test, missing);
    await expect(ask(`${url}/trajectory/strict`, {}, 'another secret')).rejects.toThrow('401');
    await expect(ask(`${url}/trajectory/strict`)).rejects.toThrow('has no "reference" with "messages"');
  });
});

function skipWithout({ skip }: Pick<TestContext, 'skip'>, missing: string | undefined): void {
  if (missing !== undefined) skip(missing);
}
