import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { useStack } from './useStack.ts';

const asks = (content: string) => ({ messages: [{ role: 'user', content }] });

const CHECKS = [
  {
    name: 'greets',
    assistant: 'greeter',
    input: asks('Hello, I am Ada'),
    expect: { contains: 'Ada', not: { contains: 'stranger' }, maxToolCalls: 0 },
    repeat: 5,
    pass: 4,
    timeout: '20s',
  },
  {
    name: 'uses its tool',
    assistant: 'greeter',
    input: asks('Say hello to Ada in French'),
    expect: {
      tools: { argsMode: 'superset', calls: [{ name: 'greeting_in', args: { language: 'French' } }] },
    },
    timeout: '20s',
  },
  {
    name: 'asks first',
    assistant: 'greeter',
    turns: [
      { input: asks('Say hello to Ada, but ask me first'), expect: { status: 'interrupted' } },
      { resume: 'yes', expect: { contains: 'Ada' } },
      { input: asks('Hello, I am Bob'), expect: { anyOf: [{ contains: 'Bob' }, { contains: 'Robert' }] } },
    ],
    timeout: '20s',
  },
];

const stack = useStack();

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
