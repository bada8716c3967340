import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { writeJobSummary } from '../../src/cli/ci/reportInCi.ts';
import { buildProgram } from '../../src/cli/program/program.ts';
import { testOutput } from '../cli/testOutput.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

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

const jobs = read('templates/gitlab/release.gitlab-ci.yml') as Record<
  string,
  {
    readonly variables: Record<string, string>;
    readonly environment?: { readonly action?: string; readonly url?: string };
    readonly after_script?: readonly string[];
    readonly artifacts?: { readonly reports: { readonly dotenv: string } };
  }
>;

it('the GitLab template runs existing commands, with variables that the script reads', () => {
  const script = readFileSync(`${ROOT}packages/action/run.sh`, 'utf8');
  const told = Object.values(jobs).flatMap(({ variables }) => Object.entries(variables));
  const inputs = told.filter(([name]) => name.startsWith('SLIPWAY_INPUT_'));
  expect(inputs.length).toBeGreaterThan(5);
  for (const [name, value] of inputs) {
    expect(script).toContain(name);
    if (name === 'SLIPWAY_INPUT_COMMAND') expect(commands).toContain(value);
  }
});

it.each([
  ['the address of its agent', 'https://agent.example.com/a', 'AGENT_URL=https://agent.example.com/a\n'],
  ['no address if there is none', '', ''],
])('the GitLab template gives an environment %s', async (_, url, variables) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, '.slipway'));
  const environment = { GITHUB_OUTPUT: join(folder, '.slipway/outputs') };
  await writeJobSummary({ output: testOutput(), environment }, '', {
    outcome: 'released',
    'agent-url': url,
  });
  const { after_script: script = [], artifacts } = jobs['.slipway'] ?? {};
  execFileSync('bash', ['-e', '-c', script.join('\n')], {
    cwd: folder,
    env: { ...process.env, ...environment },
  });
  expect(readFileSync(join(folder, artifacts?.reports.dotenv ?? ''), 'utf8')).toBe(variables);
  const deploying = Object.values(jobs).flatMap(({ environment: named }) =>
    named === undefined || named.action === 'stop' ? [] : [named.url],
  );
  expect(deploying).toEqual(['$AGENT_URL', '$AGENT_URL', '$AGENT_URL']);
});
