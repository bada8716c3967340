import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { EvaluatorService, scored } from './evaluatorService.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import type { SmallAgent } from './smallAgent.ts';
import { makeOld, storeOf } from './storedArtifacts.ts';
import { useAuditedStack } from './useStack.ts';

const asks = (content: string) => ({ messages: [{ role: 'user', content }] });

const CHECKS = [
  {
    name: 'greets',
    assistant: 'greeter',
    input: asks('Hello, I am Ada'),
    expect: { contains: 'Ada', not: { contains: 'stranger' }, maxToolCalls: 0 },
    repeat: 5,
    pass: 4,
    timeout: '120s',
  },
  {
    name: 'uses its tool',
    assistant: 'greeter',
    input: asks('Say hello to Ada in French'),
    expect: {
      tools: { argsMode: 'superset', calls: [{ name: 'greeting_in', args: { language: 'French' } }] },
    },
    timeout: '120s',
  },
  {
    name: 'asks first',
    assistant: 'greeter',
    turns: [
      { input: asks('Say hello to Ada, but ask me first'), expect: { status: 'interrupted' } },
      { resume: 'yes', expect: { contains: 'Ada' } },
      { input: asks('Hello, I am Bob'), expect: { anyOf: [{ contains: 'Bob' }, { contains: 'Robert' }] } },
    ],
    timeout: '120s',
  },
];

const stack = useAuditedStack();

describe('checks of agents with varying answers, on a real platform', () => {
  let project: Project;
  let seen: Observer;

  beforeAll(async () => {
    project = await Project.create(stack, {
      example: 'greeter',
      deployment: 'checked',
      checks: CHECKS,
    });
    seen = new Observer(stack, 'checked');
  });

  async function change(edit: (file: { checks: Record<string, unknown>[]; checksBudget?: unknown }) => void) {
    const path = join(project.folder, 'slipway.yaml');
    const file = parse(await readFile(path, 'utf8')) as Parameters<typeof edit>[0];
    edit(file);
    await writeFile(path, stringify(file));
  }

  it('release an agent that passes them, and "show" has the number of runs', async () => {
    const { code, text } = await project.ran('release', 'staging');
    expect(code, text).toBe(0);
    const { verdicts } = await seen.result('release-1');
    expect(verdicts.map(({ check, passed }) => [check, passed])).toEqual(
      CHECKS.map(({ name }) => [name, true]),
    );
    expect(verdicts[0]?.repetitions).toEqual({ passed: 4, made: 4, needed: 4, planned: 5 });
    expect((await project.ran('show', 'latest', 'staging')).text).toContain(
      '4 of 4 runs passed, 4 of 5 must pass',
    );
  });

  it('pass on the serving revision with "slipway check", without a release', async () => {
    const { code, process, text } = await project.ran('check', 'staging', '--json');
    expect(code, text).toBe(0);
    expect(process.lines.map(({ event }) => event)).toEqual(['checked', 'checked', 'checked', 'ended']);
  });

  it('fail with "slipway check", which changes nothing', async () => {
    const before = await seen.deployment();
    await change(({ checks }) => {
      checks[1]!['expect'] = { tools: { calls: [] } };
    });
    const { code, text } = await project.ran('check', 'staging');
    expect(code, text).toBe(2);
    expect(text).toContain('the tool calls differ');
    expect((await seen.deployment()).latest_revision_id).toBe(before.latest_revision_id);
  });

  it('restore the earlier revision if they fail, or if their budget is spent', async () => {
    await project.touch('B');
    const failed = await project.ran('release', 'staging');
    expect(failed.code, failed.text).toBe(2);
    expect(failed.text).toContain('the tool calls differ');
    await change((file) => {
      file.checks[1]!['expect'] = {};
      file.checksBudget = { time: '1ms' };
    });
    const spent = await project.ran('release', 'staging');
    expect(spent.code, spent.text).toBe(2);
    expect(spent.text).toContain('SLIPWAY_CHECKS_BUDGET_SPENT');
    expect((await seen.deployment()).active_revision_id).not.toBeNull();
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });
});

const ROWS = 60;

const CONCURRENCY = 3;

/** The agent fails on the questions with "break". */
const BROKEN = 2;

const question = (n: number, breaks: boolean) => `question ${n}${breaks ? ' break' : ''}`;

describe('a check over a dataset, on a real platform', () => {
  let project: Project;
  let seen: Observer;
  let notes: string;
  let agent: SmallAgent;

  beforeAll(async () => {
    notes = join(stack.folder, 'questions.txt');
    agent = { says: 'It leaves at 10:30', takesMs: 400, breaks: true, notesIn: notes };
    project = await Project.create(stack, {
      example: agent,
      deployment: 'datasets',
      checks: [
        {
          name: 'timetable',
          assistant: 'greeter',
          dataset: { path: 'timetable.jsonl', concurrency: CONCURRENCY },
          expect: { reference: 'contains' },
          passRate: '85%',
          timeout: '120s',
        },
      ],
    });
    seen = new Observer(stack, 'datasets');
    await ask(BROKEN);
  });

  /** Writes a dataset whose first rows break the agent. */
  async function ask(broken: number): Promise<void> {
    const rows = Array.from({ length: ROWS }, (_, n) => ({
      id: `row-${n}`,
      input: { messages: [{ role: 'user', content: question(n, n < broken) }] },
      reference: '10:30',
    }));
    const text = rows.map((row) => JSON.stringify(row)).join('\n');
    await writeFile(join(project.folder, 'timetable.jsonl'), text);
  }

  async function asked(): Promise<readonly string[]> {
    const text = await readFile(notes, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  it('continues after its worker was killed, and asks only rows again that were under way', async () => {
    const releasing = project.run('release', 'staging');
    while ((await asked()).length < ROWS / 3) await sleep(50);
    await stack.worker.kill();
    await stack.startWorker();
    expect(await releasing.exited, releasing.stdout + releasing.stderr).toBe(0);
    const questions = await asked();
    expect(new Set(questions).size).toBe(ROWS);
    expect(questions.length - ROWS).toBeLessThanOrEqual(CONCURRENCY);
    const { verdicts } = await seen.result('release-1');
    expect(verdicts[0]).toMatchObject({
      passed: true,
      dataset: { decision: 'passed', made: ROWS, passed: ROWS - BROKEN, rows: ROWS, of: ROWS },
    });
    const shown = (await project.ran('show', 'latest', 'staging')).text;
    expect(shown).toContain(`${ROWS - BROKEN} of ${ROWS} rows passed`);
  });

  it('releases nothing that is not enough to tell, and names the rows that changed sides', async () => {
    const before = await seen.deployment();
    await ask(6);
    await project.touch('B');
    const { code, text } = await project.ran('release', 'staging');
    expect(code, text).toBe(2);
    expect(text).toContain('SLIPWAY_CHECK_UNDECIDED');
    expect(text).toContain('not enough to tell');
    expect((await seen.deployment()).active_revision_id).not.toBeNull();
    expect((await seen.result('release-2')).baseline?.revisionId).toBe(before.active_revision_id);
    const difference = await project.ran('show', 'release-2', '--diff', 'staging');
    expect(difference.code, difference.text).toBe(0);
    expect(difference.text).toContain('row "row-5" (line 6) fails now');
    expect(difference.text).not.toContain('row "row-1"');
  });

  it('runs all rows with "slipway check", and says which failed', async () => {
    const junit = join(stack.folder, 'checks.xml');
    const { code, text } = await project.ran('check', 'staging', '--junit', junit);
    expect(code, text).toBe(2);
    expect(text).toContain('row "row-5" (line 6)');
    expect(await readFile(junit, 'utf8')).toContain('row &quot;row-5&quot; (line 6)');
  });

  it('keeps its dataset in the store as long as its revision may be restored, and prune removes the other', async () => {
    const [first, second] = await Promise.all(['release-1', 'release-2'].map((id) => seen.result(id)));
    const digests = [first, second].map((result) => result?.verdicts[0]?.dataset?.digest ?? '');
    await makeOld(stack);
    const { code, text } = await project.ran('prune', '--keep', '1');
    expect(code, text).toBe(0);
    expect(await Promise.all(digests.map((digest) => storeOf(stack).has(digest)))).toEqual([true, false]);
  });
});

const CHECK = {
  name: 'greets',
  assistant: 'greeter',
  input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
  expect: { contains: 'Hello' },
  reference: 'Hello, Ada',
  timeout: '120s',
};

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
