import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { askEvaluator, type EvaluationRequest } from '../../src/clients/evaluator.ts';
import { createAgent } from '../../src/clients/service.ts';
import { signature } from '../../src/clients/notify/webhook.ts';
import { listen } from '../support/listen.ts';

const page = readFileSync(new URL('../../docs/evaluators.md', import.meta.url), 'utf8');

function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gmsu'))].map(
    ([, code]) => code ?? '',
  );
}

const SECRET = 'what only both sides know';
const REQUEST: EvaluationRequest = {
  version: 1,
  evaluator: 'brevity',
  check: 'greets',
  input: { messages: [] },
  answer: 'Grüß Gott, Ada',
  output: {},
  reference: null,
  run: { id: null, assistant: 'agent', latencyMs: 12, tokens: null, revisionId: null, repetition: 1 },
};

describe('the page of evaluators', () => {
  const agent = createAgent();
  let server: Server;
  let url = '';

  beforeAll(async () => {
    vi.stubEnv('EVALUATORS_SECRET', SECRET);
    const module = `data:text/javascript,${encodeURIComponent(blocks('js')[0] ?? '')}`;
    ({ server } = (await import(module)) as { server: Server });
    url = `${await listen(server)}/`;
  });

  afterAll(async () => {
    vi.unstubAllEnvs();
    await agent.close();
    server.close();
  });

  const ask = (secret: string | undefined, request = REQUEST) =>
    askEvaluator(agent, { name: 'brevity', url, timeoutMs: 10_000 }, request, {
      secret,
      signal: new AbortController().signal,
    });

  it('shows an evaluator that scores what Slipway signed', async () => {
    expect(await ask(SECRET)).toEqual({ score: 1, comment: '3 words' });
    const long = { ...REQUEST, answer: 'word '.repeat(41).trim() };
    expect(await ask(SECRET, long)).toEqual({ score: 0, comment: '41 words' });
  });

  it.each([['another secret'], [undefined]])('shows one that refuses %s', async (secret) => {
    await expect(ask(secret)).rejects.toMatchObject({
      code: 'SLIPWAY_EVALUATOR_FAILED',
      message: expect.stringContaining('evaluator "brevity" gave no score') as string,
    });
  });

  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'shows a check of the signature in Python that tells what was signed, and when',
    () => {
      const body = JSON.stringify(REQUEST);
      const header = signature(body, SECRET, 1_000);
      const cases = [
        [header, body, SECRET, 1_010],
        [header, `${body} `, SECRET, 1_010],
        [header, body, 'another', 1_010],
        [header, body, SECRET, 1_301],
        [null, body, SECRET, 1_010],
      ];
      const asks = `import json, sys
for header, body, secret, now in json.loads(sys.argv[1]):
    print(is_from_slipway(header, body.encode(), secret, now))`;
      const program = `${blocks('python')[0] ?? ''}\n\n${asks}`;
      const said = execFileSync('python3', ['-c', program, JSON.stringify(cases)], { encoding: 'utf8' });
      expect(said.trim().split('\n')).toEqual(['True', 'False', 'False', 'False', 'False']);
    },
  );

  it('shows a request and an answer with the fields that they have', () => {
    const [request = '', answer = ''] = blocks('json');
    const shown = JSON.parse(request) as EvaluationRequest;
    expect(Object.keys(shown)).toEqual(Object.keys(REQUEST));
    expect(Object.keys(shown.run)).toEqual(Object.keys(REQUEST.run));
    expect(Object.keys(JSON.parse(answer) as object)).toEqual(['score', 'comment']);
  });
});
