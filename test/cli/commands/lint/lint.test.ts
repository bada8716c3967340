import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runLintCommand } from '../../../../src/cli/commands/lint/lint.ts';
import type { CommandContext } from '../../../../src/cli/context.ts';
import { testOutput } from '../../testOutput.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const RIGHT =
  'targets:\n  a: { controlPlane: "http://localhost:1", apiKey: { from: "env:KEY" }, deployment: greeter }\n';
const WARNED = RIGHT.replace('deployment: greeter', 'deployment: greeter, resources: { cpu: 1 }');

const folder = useFolders();

async function lint(text: string, options: { readonly strict?: boolean; readonly json?: boolean } = {}) {
  const file = join(folder(), 'slipway.yaml');
  await writeFile(file, text);
  const output = testOutput(options);
  const context: CommandContext = { output, home: join(folder(), '.slipway'), environment: {} };
  return { file, output, exitCode: await runLintCommand(context, file, options) };
}

describe('slipway lint', () => {
  it('exits 0 if the file is valid, and changes nothing', async () => {
    const { file, output, exitCode } = await lint(RIGHT);
    expect(exitCode).toBe(0);
    expect(output.said).toEqual([`✔ ${file}: no errors, no warnings`]);
    expect(await readdir(folder())).toEqual(['slipway.yaml']);
  });

  it('names its own argument if there is no file: it has no --config', async () => {
    const context: CommandContext = { output: testOutput(), home: folder(), environment: {} };
    await expect(runLintCommand(context, join(folder(), 'other.yaml'), {})).rejects.toMatchObject({
      code: 'SLIPWAY_CONFIG_NOT_FOUND',
      hint: 'write one with "slipway init", or name it: slipway lint FILE',
    });
  });

  it('warns of a Python agent, which the included platform does not run, also with --strict', async () => {
    await writeFile(join(folder(), 'graph.json'), '{\n  "graphs": { "bot": "./bot.py:graph" }\n}\n');
    const { output, exitCode } = await lint(RIGHT, { strict: true });
    expect(exitCode).toBe(0);
    expect(output.said[0]).toBe(
      `${join(folder(), 'graph.json')}:2:23 warning graphs.bot: the graph "bot" (./bot.py:graph) is written in Python, and the platform that Slipway includes runs JavaScript and TypeScript agents; release it to a control plane that builds Python agents`,
    );
    expect(output.said.at(-1)).toContain('no errors, 1 warning');
  });

  it('warns of a check of a graph that the source lacks, and with --strict reports an error', async () => {
    await writeFile(join(folder(), 'graph.json'), '{ "graphs": { "greeter": "./agent.ts:graph" } }');
    const checks = ['greter', 'greeter', '0d5f3a52-0c8e-4b0e-9d1f-5a1d6a3c9b7e'].map(
      (assistant, index) => `  - { name: c${index}, assistant: ${assistant}, input: {}, expect: {} }\n`,
    );
    const file = `${RIGHT}checks:\n${checks.join('')}`;
    const { output, exitCode } = await lint(file);
    expect(output.said[0]).toContain(
      'warning checks.0.assistant: graph.json has no graph "greter"; did you mean "greeter"?',
    );
    expect([output.said.at(-1), exitCode]).toEqual([expect.stringContaining('no errors, 1 warning'), 0]);
    expect((await lint(file, { strict: true })).exitCode).toBe(1);
  });

  it('waits for no pipe in place of a file of the source or of inputs', async () => {
    for (const name of ['graph.json', 'inputs.jsonl']) execFileSync('mkfifo', [join(folder(), name)]);
    const judge = 'judge: { assistant: greeter, inputs: inputs.jsonl }';
    const [targets, target = ''] = RIGHT.split('\n');
    const both = [
      targets,
      target,
      target.replace('a:', 'b:'),
      `promotions: { up: { from: a, to: b, ${judge} } }`,
    ];
    const { output, exitCode } = await lint(both.join('\n'));
    expect(exitCode).toBe(1);
    expect(output.said.join('\n')).toContain('the file of inputs cannot be read: it is a pipe');
  });

  it('shows no control characters of a file', async () => {
    const { output } = await lint('\u001b[31mtext\u0007 and\tmore');
    expect(output.said.slice(0, 2)).toEqual([
      expect.stringContaining('expected a mapping of fields'),
      '  1 |  [31mtext  and more',
    ]);
  });

  it('in CI, writes a failed job’s summary and error code', async () => {
    const environment = {
      GITHUB_ACTIONS: 'true',
      GITHUB_STEP_SUMMARY: join(folder(), 'summary'),
      GITHUB_OUTPUT: join(folder(), 'outputs'),
    };
    const file = join(folder(), 'slipway.yaml');
    await writeFile(file, 'targets: {}');
    const context: CommandContext = { output: testOutput(), home: join(folder(), '.slipway'), environment };
    expect(await runLintCommand(context, file, {})).toBe(1);
    expect(await readFile(join(folder(), 'outputs'), 'utf8')).toBe('error-code=SLIPWAY_CONFIG_INVALID\n');
    expect(await readFile(join(folder(), 'summary'), 'utf8')).toContain('targets');
  });

  it('shows every error with its line and a caret, and exits 1', async () => {
    const { file, output, exitCode } = await lint(RIGHT.replace('targets', 'tagrets'));
    expect(exitCode).toBe(1);
    expect(output.said).toEqual([
      `${file}:1:1 error targets: is missing: define at least one target`,
      '  1 | tagrets:',
      '    | ^^^^^^^^',
      `${file}:1:1 error tagrets: unknown field "tagrets"; did you mean "targets"?`,
      '  1 | tagrets:',
      '    | ^^^^^^^',
      `✖ ${file}: 2 errors, no warnings`,
    ]);
  });

  it('accepts warnings, except with --strict', async () => {
    const passed = await lint(WARNED);
    expect(passed.exitCode).toBe(0);
    expect(passed.output.said[0]).toContain(':2:94 warning targets.a.resources: has no effect');
    const refused = await lint(WARNED, { strict: true, json: true });
    expect(refused.exitCode).toBe(1);
    expect(refused.output.events).toMatchObject([
      { event: 'problem', severity: 'error', line: 2, column: 94, length: 9, path: 'targets.a.resources' },
      { event: 'linted', file: refused.file, errors: 1, warnings: 0, exitCode: 1 },
    ]);
  });

  it('truncates a long line around the problem', async () => {
    const { output } = await lint(
      RIGHT.replace('deployment: greeter', `tenantId: ${'0'.repeat(200)}, deploymnet: g`),
    );
    const at = output.said.findIndex((said) => said.includes('unknown field "deploymnet"'));
    const [line, caret] = output.said.slice(at + 1);
    expect(line?.length).toBeLessThan(140);
    expect(line?.slice(caret?.indexOf('^'))).toMatch(/^deploymnet/);
  });
});

describe('the inputs of judges', () => {
  const judge = (inputs: string) =>
    `judge: { inputs: ${inputs}, assistant: bot, metrics: { expectations: 0.1 } }`;
  const file = `${RIGHT}  b: { controlPlane: "http://localhost:1", apiKey: { from: "env:KEY" }, deployment: other }
promotions:
  nightly: { from: a, to: b, ${judge('right.jsonl')} }
previews:
  pull-request: { from: a, deployment: "greeter-{pr}", ${judge('wrong.jsonl')} }
`;

  it('are read, and the first wrong line of a file is an error at its field', async () => {
    await writeFile(join(folder(), 'right.jsonl'), '{"input":{}}\n');
    await writeFile(join(folder(), 'wrong.jsonl'), '{"input":{}}\n{"inputs":{}}\n');
    const { output, exitCode } = await lint(file);
    expect(exitCode).toBe(1);
    expect(output.said[0]).toContain('previews.pull-request.judge.inputs: wrong.jsonl:2: ');
    expect(output.said.at(-1)).toContain('1 error');
  });

  it('must exist, as files', async () => {
    await mkdir(join(folder(), 'wrong.jsonl'));
    const { output } = await lint(file);
    const said = output.said.join('\n');
    expect(said).toContain('right.jsonl: the file of inputs cannot be read: ENOENT: no such file');
    expect(said).toContain('wrong.jsonl: the file of inputs cannot be read: it is a folder');
    expect(output.said.at(-1)).toContain('2 errors');
  });
});
