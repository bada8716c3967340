import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { buildProgram } from '../../src/cli/program/program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): unknown => parse(readFileSync(`${ROOT}${path}`, 'utf8'));

interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: {
    readonly steps: readonly {
      readonly run?: string;
      readonly with?: Record<string, string>;
      readonly env?: Record<string, string>;
    }[];
  };
}
interface Workflow {
  readonly jobs: Readonly<
    Record<
      string,
      { readonly steps: readonly { readonly uses?: string; readonly with?: Record<string, string> }[] }
    >
  >;
}

const action = read('packages/action/action.yml') as Action;
const commands = buildProgram({ version: '0.0.0', onExit: () => undefined }).commands.map((command) =>
  command.name(),
);

describe('the GitHub action', () => {
  it('passes each input to the script as a variable, never within a command', () => {
    const script = readFileSync(`${ROOT}packages/action/run.sh`, 'utf8');
    const handed = action.runs.steps.flatMap(({ env }) => Object.entries(env ?? {}));
    for (const [variable, value] of handed) {
      expect(script).toContain(variable);
      const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1] ?? '';
      expect(Object.keys(action.inputs)).toContain(input);
    }
    expect(handed).toHaveLength(7);
    expect(action.runs.steps.map(({ run = '' }) => run).join('\n')).not.toContain('${{');
  });

  it('keeps what it installed for the next job, until one of its files changes', () => {
    const [find, cache, install] = action.runs.steps.slice(1);
    expect(find?.run).toContain('/key.sh');
    expect(cache?.with).toEqual({
      path: '${{ steps.tool.outputs.path }}',
      key: '${{ steps.tool.outputs.key }}',
    });
    expect(install?.run).toContain('/install.sh');
  });
});

describe.each(readdirSync(`${ROOT}templates/github`))('the workflow %s', (file) => {
  const { jobs } = read(`templates/github/${file}`) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it('uses the action with existing inputs and an existing command', () => {
    const [uses] = steps.filter((step) => step.uses?.startsWith('OWNER/slipway/packages/action@'));
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(uses?.with ?? {})));
    expect(commands).toContain(uses?.with?.['command']);
  });
});

it('the GitLab template runs existing commands, with variables that the script reads', () => {
  const jobs = read('templates/gitlab/release.gitlab-ci.yml') as Record<
    string,
    { readonly variables: Record<string, string> }
  >;
  const script = readFileSync(`${ROOT}packages/action/run.sh`, 'utf8');
  const told = Object.values(jobs).flatMap(({ variables }) => Object.entries(variables));
  const inputs = told.filter(([name]) => name.startsWith('SLIPWAY_INPUT_'));
  expect(inputs.length).toBeGreaterThan(5);
  for (const [name, value] of inputs) {
    expect(script).toContain(name);
    if (name === 'SLIPWAY_INPUT_COMMAND') expect(commands).toContain(value);
  }
});
