import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { EvaluatorService, scored } from './evaluatorService.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { useStack } from './useStack.ts';

const CHECK = {
  name: 'greets',
  assistant: 'greeter',
  input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
  expect: { contains: 'Hello' },
  reference: 'Hello, Ada',
  timeout: '20s',
};

const stack = useStack();
let evaluator: EvaluatorService;
let project: Project;
let seen: Observer;

beforeAll(async () => {
  evaluator = await EvaluatorService.start(stack.folder);
  const checks = [{ ...CHECK, evaluators: [evaluator.entry()] }];
  project = await Project.create(stack, { example: { says: 'Hello' }, deployment: 'scored', checks });
  seen = new Observer(stack, 'scored');
});
afterAll(() => evaluator.close());

describe('an evaluator over HTTP, on a real platform', () => {
  it('gets the run of a release, signed, and its score is shown', async () => {
    evaluator.answer = scored(0.9, 'friendly');
    const { code, text } = await project.ran('release', 'staging');
    expect(code, text).toBe(0);
    const result = await seen.result('release-1');
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
    evaluator.answer = scored(0.85);
    const { code, process, text } = await project.ran('check', 'staging', '--json', '--junit', 'checks.xml');
    expect(code, text).toBe(0);
    expect(process.lines[0]).toMatchObject({ event: 'checked', scores: [{ scores: [0.85] }] });
    const junit = await readFile(join(project.folder, 'checks.xml'), 'utf8');
    expect(junit).toContain('<property name="score.tone" value="0.85"/>');
    evaluator.answer = scored(0.5, 'curt');
    const low = await project.ran('check', 'staging');
    expect(low.code, low.text).toBe(2);
    expect(low.text).toContain('evaluator "tone" scored 0.5, at least 0.8 is needed: curt');
  });

  it('is never asked without a signature, and its secret is in no output', async () => {
    expect(evaluator.forged).toBe(0);
    const { text } = await project.ran('show', 'latest', 'staging', '--json');
    expect(text).toContain('"evaluator":"tone"');
    expect(text).not.toContain(evaluator.secret);
  });
});
