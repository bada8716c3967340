import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, describe, expect, it } from 'vitest';

import { Observer } from './observer.ts';
import { Project } from './project.ts';
import type { SmallAgent } from './smallAgent.ts';
import { useAuditedStack } from './useStack.ts';
import { makeOld, storeOf } from './storedArtifacts.ts';

const ROWS = 60;
const CONCURRENCY = 3;
/** The agent fails on the questions with "break". */
const BROKEN = 2;

const question = (n: number, breaks: boolean) => `question ${n}${breaks ? ' break' : ''}`;

const stack = useAuditedStack();

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
          timeout: '20s',
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
