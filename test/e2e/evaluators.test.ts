import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { type Answer, EvaluatorService, scored } from './evaluatorService.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { Stack } from './stack.ts';

const CHECK = {
  name: 'greets',
  assistant: 'greeter',
  input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
  expect: { contains: 'Hello' },
  reference: 'Hello, Ada',
  timeout: '20s',
};

let stack: Stack;
let evaluator: EvaluatorService;
let project: Project;
let seen: Observer;
let sources = 0;

beforeAll(async () => {
  stack = await Stack.start();
  evaluator = await EvaluatorService.start(stack.folder);
  const checks = [{ ...CHECK, evaluators: [evaluator.entry()] }];
  project = await Project.create(stack, { example: { says: 'Hello' }, deployment: 'scored', checks });
  seen = new Observer(stack, 'scored');
});
afterAll(async () => {
  await evaluator.close();
  await stack.stop();
});

beforeEach(() => {
  evaluator.asked.length = 0;
});

/** Releases a new source, with what its evaluator answers, and what its entry in `slipway.yaml` says. */
async function release(answers: readonly Answer[], fields: Record<string, unknown> = {}) {
  evaluator.answers = answers;
  const path = join(project.folder, 'slipway.yaml');
  const file = parse(await readFile(path, 'utf8')) as { checks: unknown };
  file.checks = [{ ...CHECK, evaluators: [evaluator.entry(fields)] }];
  await writeFile(path, stringify(file));
  await project.touch(String(++sources));
  const { code, text } = await project.ran('release', 'staging');
  return { code, text, result: await seen.result(`release-${sources}`) };
}

describe('an evaluator over HTTP, on a real platform', () => {
  it('gets the run of a release, signed, and its score is shown', async () => {
    const { code, text, result } = await release([scored(0.9, 'friendly')]);
    expect(code, text).toBe(0);
    expect(evaluator.asked).toMatchObject([
      {
        version: 1,
        evaluator: 'tone',
        check: 'greets',
        input: CHECK.input,
        answer: 'Hello',
        reference: 'Hello, Ada',
        run: { assistant: 'greeter', revisionId: result.revisionId, repetition: 1 },
      },
    ]);
    expect(result.verdicts[0]?.scores).toEqual([
      { evaluator: 'tone', minScore: 0.8, scores: [0.9], comment: 'friendly', noScore: null },
    ]);
    expect((await project.ran('show', 'latest', 'staging')).text).toContain('scored tone 0.9');
  });

  it('scores what serves for "slipway check", which says so in JUnit', async () => {
    evaluator.answers = [scored(0.85)];
    const { code, process, text } = await project.ran('check', 'staging', '--json', '--junit', 'checks.xml');
    expect(code, text).toBe(0);
    expect(process.lines[0]).toMatchObject({ event: 'checked', scores: [{ scores: [0.85] }] });
    const junit = await readFile(join(project.folder, 'checks.xml'), 'utf8');
    expect(junit).toContain('<property name="score.tone" value="0.85"/>');
    evaluator.answers = [scored(0.5, 'curt')];
    const low = await project.ran('check', 'staging');
    expect(low.code, low.text).toBe(2);
    expect(low.text).toContain('evaluator "tone" scored 0.5, at least 0.8 is needed: curt');
  });

  it('ends a release by a score that is too low, and what served is restored', async () => {
    const before = await seen.deployment();
    const { code, text, result } = await release([scored(0.4, 'curt'), scored(1)]);
    expect(code, text).toBe(2);
    expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_CHECK_FAILED' });
    expect(text).toContain('evaluator "tone" scored 0.4, at least 0.8 is needed: curt');
    expect((await seen.deployment()).active_revision_id).toBe(before.active_revision_id);
  });

  it('is asked again after 500, and after it took too long', async () => {
    const { code, text, result } = await release([
      { status: 500, body: '{"detail":"not now"}' },
      'never',
      scored(0.95),
    ]);
    expect(code, text).toBe(0);
    expect(evaluator.asked).toHaveLength(3);
    expect(new Set(evaluator.asked.map((request) => JSON.stringify(request))).size).toBe(1);
    expect(result.verdicts[0]?.scores).toMatchObject([{ scores: [0.95], noScore: null }]);
  });

  it('undoes no release by a missing score, which the result names', async () => {
    const { code, text, result } = await release([{ body: '{"score": NaN}' }]);
    expect(code, text).toBe(0);
    const [score] = result.verdicts[0]?.scores ?? [];
    expect(score?.scores).toEqual([null]);
    expect(score?.noScore).toContain('evaluator "tone" gave no score');
    expect(score?.noScore).toContain('not JSON, which has no NaN');
  });

  it.each([
    ['lies about its schema', { body: '{"score": "0.9", "verdict": "good"}' }, 'score: expected a number'],
    ['is away', { status: 503, body: '' }, 'was answered with 503, 5 times'],
  ] satisfies [string, Answer, string][])(
    'ends a release that needs a score if it %s, and blames no revision',
    async (_, answer, words) => {
      const { code, text, result } = await release([answer], { onNoScore: 'fail' });
      expect(code, text).toBe(2);
      expect(result).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_EVALUATOR_FAILED' });
      expect(text).toContain('evaluator "tone" gave no score');
      expect(text).toContain(words);
      expect(await seen.ask('Hello')).toContain('Hello');
    },
  );

  it('is never asked without a signature, and its secret is in no output', async () => {
    expect(evaluator.forged).toBe(0);
    const { text } = await project.ran('show', 'latest', 'staging', '--json');
    expect(text).toContain('"evaluator":"tone"');
    expect(text).not.toContain(evaluator.secret);
  });
});
